"""Whose turn it is: orders of jobs, and what can be put around any of them."""
