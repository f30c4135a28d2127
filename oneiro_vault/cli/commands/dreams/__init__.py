"""Commands about loops and their review."""
