"""What can be seen from outside: structured logs and metrics."""
