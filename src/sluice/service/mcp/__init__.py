"""Tools for agents, by the Model Context Protocol: `sluice mcp`.

Source: service spec, section 9.
"""
