"""Vectors: the store, its cache, exact search, filling and health."""
