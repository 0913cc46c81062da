"""PURE. What an administrator or user may ask for: annotations and configuration parsed, layered and resolved."""
