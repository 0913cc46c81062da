"""gpusched: a Kubernetes admission webhook and HTTP scheduler extender for GPUs."""

__version__ = "0.1.0"
