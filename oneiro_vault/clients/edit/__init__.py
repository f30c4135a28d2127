"""Editing JSON, JSONC and TOML settings without changing anything else."""
