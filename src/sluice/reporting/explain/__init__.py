"""Answers of `why` and `story` as text."""
