"""Hadoop's own schedulers, run by its Scheduler Load Simulator, as the referee of our model."""
