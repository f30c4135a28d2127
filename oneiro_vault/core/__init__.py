"""Floor 1: pure values and arithmetic. Imports errors only; no files, clock, network, git or
database."""
