"""The verbs, for programs: what the command line does, as functions over immutable values.

A workload is a path, or a `Workload`. Settings are given as in the file: a mapping of dotted
keys, here over those of the file. Results have `.document()`, `.to_frame()` and `.plot()`.
"""
