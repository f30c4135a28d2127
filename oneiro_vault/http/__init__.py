"""The network face for other machines: TCP, tokens, OAuth. Exists only when a person asks for it.

`listen_tcp` listens and serves, `middleware` decides who gets through, `oauth_routes` is what a
person's browser and a program's login meet.
"""
