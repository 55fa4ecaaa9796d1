"""The store of a service: its folder, and what users submitted to it."""
