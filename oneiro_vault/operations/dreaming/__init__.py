"""Running loops: who may, on what picture of the vault, asked of whom, and what becomes of their decisions."""
