"""Simulations put together: one, several under one question, and in several processes."""
