"""Submission order of jobs on a cluster that runs them first in, first out.

`problem` defines cluster and jobs. `flow_arrays` and `kernels.fifo_model` evaluate an order.
`rules` has the orders by formula, `bounds` the lower and upper bounds. `cut_sweep`, `annealing`,
`exact` and `enumeration` search for an order; `solver` selects a method by name. Source: ordering
spec, a thesis on MapReduce job ordering with its errata.
"""
