"""Which combination of parts is best for a history, and what each part adds on it."""
