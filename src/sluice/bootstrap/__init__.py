"""Builds the object graph: names and settings in, a scheduler, a simulation or a live run out.

The one place that knows every class. Nothing is imported here, so that a command loads the modules
that it uses and no others.
"""
