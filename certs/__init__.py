"""Certificates of the webhook and the extender."""
