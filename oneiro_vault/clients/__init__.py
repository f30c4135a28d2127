"""Floor 3: the programs models run in: where each keeps its settings, what of ours goes in, and
taking it out again without a trace."""
