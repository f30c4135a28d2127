"""A month in the life of a vault: a story in conversations, thirty nights over it, and what must be
true afterwards."""
