"""Readers of what other programs export: each turns an archive into records, one after the other,
and writes nothing."""
