"""The face for models: tools, resources and prompts over the App, for MCP clients of either
protocol era. Nothing is imported here."""
