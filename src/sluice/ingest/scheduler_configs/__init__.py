"""Configuration files of other schedulers, read into one queue tree."""
