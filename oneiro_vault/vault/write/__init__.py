"""The write path: lock, plan, journal, commit, recovery."""
