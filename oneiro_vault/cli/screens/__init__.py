"""Full-screen programs for those who live in a terminal: review and search. Textual is imported
here and nowhere else, when one of them is begun: it takes a third of a second."""
