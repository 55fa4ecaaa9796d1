"""When jobs that are taken enter the cluster: MROrder's rounds, or on demand."""
