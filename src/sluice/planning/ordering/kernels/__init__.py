"""Functions that search spends its time in: plain Python, written so that numba can compile it.

Their values are numbers, sequences of numbers (lists when plain, arrays when compiled) and named
tuples of such; they draw nothing, read no clock and raise nothing. `compilation` hands them out.
"""
