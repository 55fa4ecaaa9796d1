"""When the jobs of a queue start and end: document and table."""
