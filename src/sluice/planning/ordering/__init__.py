"""In which order to submit jobs to a cluster that runs them first in, first out.

`problem` says what is known of cluster and jobs, `running` what becomes of an order (exactly, and
as quickly as can be), `rules` orders by formula, `bounds` says what no order can beat. `sweep`,
`annealing` and `exact` search; `methods` knows them all by name. Source: ordering spec, a thesis on
MapReduce job ordering with its errata.
"""
