"""The face for models, for MCP clients of either protocol era. Nothing is imported here."""
