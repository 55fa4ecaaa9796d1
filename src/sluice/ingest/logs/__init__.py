"""History logs, one format a file: bytes, limits, parse, `PastRun`.

A log that is cut, rotated or partly corrupt gives what can be read and a report of what was
skipped; one that tells nothing at all is refused with one clear message.
"""
