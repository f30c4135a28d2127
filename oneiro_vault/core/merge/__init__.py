"""Three-way merge of notes: frontmatter key by key, bodies piece by piece."""
