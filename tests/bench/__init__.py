"""Measurements, never assertions: every row is a ratio to a bare baseline taken in the same run on
the same machine."""
