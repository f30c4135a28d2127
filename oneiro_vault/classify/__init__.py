"""A small trained classifier of sentences: its weights are data, made by `make train`."""
