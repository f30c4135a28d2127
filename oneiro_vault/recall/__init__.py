"""Floor 3: from a question to dated, explained rows. May import core and the index's protocols."""
