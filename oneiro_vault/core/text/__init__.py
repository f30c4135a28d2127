"""Words and sentences: languages, query terms, snippets, equality, polarity, numbers."""
