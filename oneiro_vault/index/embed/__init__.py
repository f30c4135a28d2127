"""Embedding models and the process they run in."""
