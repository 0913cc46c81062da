"""PURE. The smallest change that makes a pod fit, found by trying."""
