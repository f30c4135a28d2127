"""Floor 2, derived: keyword, vector and link indexes that may be deleted at any time. May import
core."""
