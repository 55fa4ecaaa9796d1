"""The texts of a service about jobs, promises and queues: sentences and tables."""
