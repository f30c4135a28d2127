"""Floor 5: the one process that owns a vault, and the thin client that talks to it.

`protocol` and `client` import nothing but `os` and the C socket: they are on the
path of every `oneiro recall`.
"""
