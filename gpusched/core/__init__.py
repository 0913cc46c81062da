"""PURE. Records and algebra of every decision: quantities, pods, nodes, pools, demand, constraints, claims."""
