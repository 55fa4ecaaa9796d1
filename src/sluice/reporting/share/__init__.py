"""Who received how much of a shared capacity, step by step."""
