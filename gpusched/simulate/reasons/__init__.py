"""PURE. Why a pod waits, or where it is: reasons counted over nodes, in words."""
