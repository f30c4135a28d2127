"""What is wrong with a repository, and its repair."""
