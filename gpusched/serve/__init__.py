"""The service: HTTP servers over the decisions, what only the leader does, and the composition of all of it."""
