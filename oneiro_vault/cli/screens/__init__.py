"""What is drawn in a terminal: full-screen programs for those who live there (review and search),
and charts. Textual is imported here and nowhere else, when one of the programs is begun: it takes a
third of a second."""
