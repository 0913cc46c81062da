"""Certificates of the servers: in Secrets that gpusched keeps and rotates, or in files of somebody else."""
