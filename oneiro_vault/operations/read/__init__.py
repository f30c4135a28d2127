"""Reading memories: recall, orientation, injection, resources."""
