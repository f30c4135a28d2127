"""Reviewing what loops proposed."""
