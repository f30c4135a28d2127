"""Readers of what was written down elsewhere: vaults and folders of notes, and the stores of other
memory tools."""
