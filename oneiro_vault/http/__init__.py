"""The network face for other machines: TCP, tokens, OAuth. Exists only when a person asks for
it."""
