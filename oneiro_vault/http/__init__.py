"""The network face for other machines: TCP, tokens, OAuth. Exists only when a person asks for it.

`listen_tcp` listens, `request/middleware` decides who gets through, `oauth_routes` and `consent`
are what a person's browser and a program's login meet, `routes` is what it serves besides MCP.
"""
