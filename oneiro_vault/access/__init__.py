"""Floor 3: who may come in. Service keys, OAuth, scopes, rate limits and the audit log, without a web framework.

Everything here is this machine's own and lies outside of every vault, because a vault that was pulled is untrusted input.
"""
