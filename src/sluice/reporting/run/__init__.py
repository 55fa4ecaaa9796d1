"""A simulated or live run: figures, trace, tables and charts."""
