"""PURE. The main job offline: manifests against a dump of a cluster."""
