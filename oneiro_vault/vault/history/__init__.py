"""Commits read back: the log, snapshots, versions of one memory, undo, branches of proposals."""
