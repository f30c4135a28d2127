"""The loops that work while nobody looks. Each is a pure generator: it yields questions, is sent
verdicts, and returns decisions."""
