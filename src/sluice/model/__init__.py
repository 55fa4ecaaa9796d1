"""Frozen values and their arithmetic: jobs, phases, nodes, pools. Imports nothing above itself."""
