"""The effects of a fault: of a task, of a node, of an output, of an attempt without an end."""
