"""The pages as files, for whoever has no vault."""
