"""What people and programs are told of a run: documents, traces, tables, charts, explanations."""
