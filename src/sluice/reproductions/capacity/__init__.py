"""Admission control and capacity allocation with deadlines, on Hadoop 2.x."""
