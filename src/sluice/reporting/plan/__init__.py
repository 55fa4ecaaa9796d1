"""Plans for a budget and a deadline: figures, tables and chart."""
