"""Commands about this machine and others: sync, clone, setup, keys, serve, trust."""
