"""Floor 5: the program that clients run at events of a conversation, `oneiro hook EVENT`. It must
never be in the way: light parts of the standard library, a deadline, and exit code 0 whatever
happens."""
