"""The owner's face for other machines: TCP, tokens, OAuth. It exists only when a person asks for it and changes nothing about the socket.

`serve` listens, `gate` decides who gets through, `oauth` and `page` are what a person's browser and a program's login meet, `faces` is
what is behind the gate besides MCP.
"""
