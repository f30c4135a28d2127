"""The local web page: server-rendered, behind a one-time link, every write a person's through the
one write path."""
