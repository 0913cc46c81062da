"""PURE. One module per vendor or cloud: labels, annotations and allocatable to partial GPU facts, merged into pools."""
