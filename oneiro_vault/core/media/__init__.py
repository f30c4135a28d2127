"""Pictures as bytes: format, size, metadata."""
