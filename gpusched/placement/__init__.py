"""PURE. Where a GPU pod may run and where it runs best: filter, scores, preemption, quota gates, explanations."""
