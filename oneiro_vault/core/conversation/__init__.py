"""A captured conversation: who said which words, what was pasted, what a person says of
themselves."""
