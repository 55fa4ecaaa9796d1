"""The record of what has happened: ended attempts in columns, and events as text."""
