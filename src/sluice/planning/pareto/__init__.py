"""Plans on the Pareto frontier of makespan and budget.

Theory of operation. Every job of a workload gets its own rented VMs, and all jobs run at once. The
makespan is the time of the slowest job, and the budget is the sum of the costs.

- `problem` defines the input. `pricing` computes the time and cost of one choice for one job;
  no other module computes a time or a price.
- `staircase` lists the undominated choices of one job. `frontier` merges the staircases of all
  jobs into the exact list of undominated plans.
- `vm_cap` does the same under a limit on VMs; `waves` runs jobs one after another instead.
- `greedy` is the search printed in the paper, for comparison.
- `plan_search` applies the user's limits. `tradeoff` finds the plans to look at first.
- `task_counts` and `tuned` tune task counts, `buffers` tunes buffers.

Sources cite "pareto": Zacheilas and Kalogeraki, "A Pareto-based scheduler for exploring
cost-performance trade-offs for MapReduce workloads", EURASIP J. Embedded Systems 2017:29, by
equation, and its spec by section; E-numbers are errata in section 5.
"""
