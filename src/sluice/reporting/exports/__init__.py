"""Configuration for other people's schedulers: what was planned here, put to work there."""
