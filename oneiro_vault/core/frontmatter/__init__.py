"""The YAML block of a note: strict reading, byte-keeping edits, field checks, salvage of broken
ones."""
