"""The files on disk: reading and writing them, a person's edits, attachments, importing a
folder."""
