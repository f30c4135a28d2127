"""The settings: one table of them, what a pull may not loosen, and where everything lies."""
