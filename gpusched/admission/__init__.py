"""PURE. Whether a pod, workload or namespace may be created, and what is patched into a pod."""
