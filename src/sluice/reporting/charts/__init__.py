"""Charts as Vega-Lite specifications: plain dicts, data included, drawn without a network."""
