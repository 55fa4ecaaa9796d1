"""A result in one HTML page: its charts, figures and tables."""
