"""The size of a cluster: result, tables, chart."""
