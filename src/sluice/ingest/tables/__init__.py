"""Tables of jobs and of prices: the columns are recognised, and become a workload or a list."""
