"""The recorded runs of a state folder: a list, one run, or what was removed."""
