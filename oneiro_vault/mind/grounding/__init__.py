"""Does a text say what its sources say: support, citations, subject, neighbours."""
