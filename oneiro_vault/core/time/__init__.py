"""Dates and time spans as people write them, validity of a memory, and decay."""
