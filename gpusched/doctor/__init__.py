"""PURE. Problems of a cluster, each with what was seen, why it matters and the command that fixes it."""
