"""The body of a note: its structure, what can be inferred from it, quoting it as data, word
diffs."""
