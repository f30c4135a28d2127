"""The tools a model sees."""
