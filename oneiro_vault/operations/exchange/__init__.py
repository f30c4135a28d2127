"""What comes from other programs into the vault, and what leaves it for them."""
