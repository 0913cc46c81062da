"""PURE. kube-scheduler's own feasibility rules, as far as `gpusched simulate` models them."""
