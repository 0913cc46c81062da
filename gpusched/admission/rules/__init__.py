"""PURE. One module per rule of admission; each looks at a pod in its context and returns what it objects to."""
