"""Secrets in a text: shapes of keys and passwords, and the scan before a commit."""
