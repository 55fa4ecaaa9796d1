"""Containers shared by a tree of queues, each with a guarantee and a maximum."""
