"""Charts as Vega-Lite specifications: plain dicts with their data, for use offline.

They are not written with Altair, whose import alone takes 0.38 s of CPU time, where a whole
simulation takes 0.6 s, and whose packages each install would need: docs/decisions/0003.
"""
