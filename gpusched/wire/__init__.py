"""PURE. Bytes of the extender and admission protocols to decisions and back."""
