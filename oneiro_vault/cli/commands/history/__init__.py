"""Commands about the past: log, why, blame, diff, undo."""
