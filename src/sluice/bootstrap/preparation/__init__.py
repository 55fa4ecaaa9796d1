"""From a workload file to what a command works on: one ordered list of named steps."""
