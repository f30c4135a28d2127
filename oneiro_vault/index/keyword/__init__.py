"""The SQLite index: rows, chunks, sessions, links and full-text search."""
