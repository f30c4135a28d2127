"""Commands of every day: remember, recall, orient, init, demo."""
