"""Floor 3: the programs models run in: what of ours goes into their settings, and out again."""
