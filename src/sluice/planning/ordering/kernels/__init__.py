"""The inner loops of the searches: plain Python that numba can also compile.

Their values are numbers, sequences of numbers (lists if plain, arrays if compiled) and named tuples
of these. They use no random generator and no clock, and raise nothing. `compilation` returns them.
"""
