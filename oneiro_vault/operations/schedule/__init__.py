"""When and on which machine loops run."""
