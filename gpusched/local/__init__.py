"""A real control plane on this machine: built, started, filled with fake nodes, and gone without a trace afterwards."""
