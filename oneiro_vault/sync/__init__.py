"""Two copies of a vault meet: what happens to every file (plan), what is too much and the order of
it all (engine)."""
