"""Training of the small heads, repeatable: fixed seeds, data given by path, metrics written beside the head."""
