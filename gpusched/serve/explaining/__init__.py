"""Why GPU pods wait or are where they are, found out once for the events, the page and `gpusched why --server`."""
