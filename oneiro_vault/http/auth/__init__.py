"""Who may come in: service keys, OAuth, scopes, rate limits, the audit log, without a web
framework.

Everything here is this machine's own and lies outside of every vault, because a vault that was
pulled is untrusted input.
"""
