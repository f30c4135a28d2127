"""The MCP face, spoken to as clients speak to it: in memory, over the owner's socket, over the
stdio bridge, in both protocol eras."""
