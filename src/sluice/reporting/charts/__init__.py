"""Charts as Vega-Lite specifications: plain dicts with their data, for use offline."""
