"""Answers for people, read from state and record: why a job waits, and its story."""
