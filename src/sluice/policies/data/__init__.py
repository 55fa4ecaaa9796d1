"""How long a task waits for a node that holds its data, and which nodes do."""
