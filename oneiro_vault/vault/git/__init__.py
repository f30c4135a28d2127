"""The git repository: objects, refs, index, locks, commands and the network."""
