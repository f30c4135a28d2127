"""Floor 5: the program that clients run at events of a conversation, `oneiro hook EVENT`. JSON in,
JSON or nothing out.

It has milliseconds and must never be in the way: light parts of the standard library only, a
deadline, and exit code 0 whatever happens.
"""
