"""Commands that programs call: capture, hook, merge-driver, mcp."""
