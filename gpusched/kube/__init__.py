"""Talk to the API server: read what there is, keep it current, write what was decided."""
