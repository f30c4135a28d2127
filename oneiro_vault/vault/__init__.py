"""The truth: the only room that writes memories and the only one that knows git.

May import: errors, core. Never index, judges or anything above. `vault.Vault.apply` is the one door
every change goes through.
"""
