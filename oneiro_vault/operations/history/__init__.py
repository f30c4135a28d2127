"""The past: as of a date, blame, diff, pull-request summary, strength curve."""
