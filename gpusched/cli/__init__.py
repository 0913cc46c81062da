"""I/O. The `gpusched` command: reads files, prints tables, JSON and YAML."""
