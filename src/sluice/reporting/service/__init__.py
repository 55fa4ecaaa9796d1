"""What a service says of jobs, promises and queues: sentences and tables."""
