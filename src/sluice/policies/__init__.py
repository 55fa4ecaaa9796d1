"""Online rules, one a file: what to admit, what to release, which task goes where."""
