"""The data that past runs leave: their records, and the profiles that are learned from them."""
