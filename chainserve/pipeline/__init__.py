"""The order of the chain: the only room that knows it."""
