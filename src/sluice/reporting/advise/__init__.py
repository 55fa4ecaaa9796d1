"""Advice: which combination of parts, what it gains, and what each part adds."""
