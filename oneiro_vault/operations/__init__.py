"""Floor 4: what a face can ask for, one function an operation. JSON-ready in, JSON-ready out."""
