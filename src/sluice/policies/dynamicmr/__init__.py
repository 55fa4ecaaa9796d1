"""DynamicMR: no slot idles while work waits. Typed slots are lent to tasks of the other kind.

Made of parts that work alone and together, over `Fair` and over `Fifo`:

* `cases`: the ways in which a node's slot is filled, each a numbered case with its reason;
* `pool_independent`, `pool_dependent`: in which order cases are tried, and how much is lent;
* `prescheduling`: further cases, which use slots beyond the balance line for maps near their
  data;
* `sluice.policies.copies.late`, `sepb`, `slow_kill`, `deadlock`: decorators over any of these;
* `policy`: what the settings of a workload file put together.

Source: Tang, Lee and He, "DynamicMR: A Dynamic Slot Allocation Optimization Framework for
MapReduce Clusters", IEEE Transactions on Cloud Computing, 2014; repaired as in dynamicmr
spec, section 6.
"""
