"""The stdio form of the MCP server: a thin bridge to the owner process."""
