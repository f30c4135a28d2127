"""Floor 5: the command line. Parses, makes one App call, renders. `main` and `terminal` are on the
fast path and import next to nothing."""
