"""Rows of the reliability bar that no module owns: each is a promise of the whole product."""
