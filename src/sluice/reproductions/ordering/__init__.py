"""A thesis on job ordering for FIFO MapReduce clusters: chapter 3."""
