"""RAS: the resource-aware adaptive scheduler. It places tasks by their resource demands and steers
jobs towards their completion-time goals.

Every control cycle decides how many tasks of each job each node may run (job slots). Between two
cycles the task scheduler moves the nodes towards the placement without overloading them. RAS kills
no task and moves no running task.

* `utility`: how many map slots a job needs to meet its goal, and its satisfaction with a number.
* `placement`: the job slots on each node and what they use.
* `reducer_spread`, `map_exchange`: the placement heuristics.
* `goals`: the aim that meets as many goals as possible first (not in the paper).
* `control_cycle`: from the state of the cluster to the next placement.
* `running_use`: what the tasks that really run use.
* `task_scheduler`: which task starts on a node that asks for work.
* `explanation`: why a task waits.
* `policy`: all parts as one task policy.

Source: Polo et al., "Resource-aware Adaptive Scheduling for MapReduce Clusters", Middleware 2011;
repaired as the RAS spec says, section 6.
"""
