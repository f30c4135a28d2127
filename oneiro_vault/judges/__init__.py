"""Who answers a loop's questions."""
