"""Exports of chat services: what was on screen, as conversations; what they remember of a person,
as notes."""
