"""Erasure: find every copy of a text, rewrite history without it, keep it out afterwards."""
