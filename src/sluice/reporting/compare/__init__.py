"""Several schedulers on one workload: figures, table and chart."""
