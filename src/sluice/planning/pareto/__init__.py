"""Time against money: the plans that are worth choosing, and what each costs.

Theory of operation. Every job of a workload gets rented VMs of its own, all jobs run at once, the
slowest tells the makespan, the budget is the sum. `problem` holds what is asked; `pricing` says
what one choice for one job comes to, and nothing else in this room computes a time or a price.
`staircase` lists, for one job, the choices that no other beats in time and cost. `frontier` merges
the staircases of all jobs into the exact list of undominated plans; `caps` does the same under a
limit on VMs, `waves` by running jobs one after the other, and `greedy` walks the way the paper
printed, for comparison. `answer` holds plans against the limits that were set; `tradeoff` tells
where to look first. Task counts are tuned in `tasks`, buffers in `buffers`.

Sources cite "pareto": Zacheilas and Kalogeraki, "A Pareto-based scheduler for exploring
cost-performance trade-offs for MapReduce workloads", EURASIP J. Embedded Systems 2017:29, by
equation, and its spec by section; E-numbers are errata in section 5.
"""
