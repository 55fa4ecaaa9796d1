"""A history under other queues: figures of each queue, before and after."""
