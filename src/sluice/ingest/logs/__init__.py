"""History logs, one format a file: bytes, limits, parse, `PastRun`.

A log that is cut, rotated or partly corrupt gives what can be read and a report of what was
skipped; a log without any usable line is refused with one clear message.
"""
