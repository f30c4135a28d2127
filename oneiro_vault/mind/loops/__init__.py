"""The loops, one module each, and what only one loop uses."""
