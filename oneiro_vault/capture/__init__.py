"""Floor 3: what happened in a conversation, on its way into the vault: markers, transcripts,
privacy, spool.

All of it is loaded by the hook program, which has milliseconds: only light parts of
the standard library here.
"""
