"""PURE. The single writer of what is known about the cluster: nodes, GPU pods, namespaces, runtime classes."""
