"""YARN as it runs: masters in containers of their own, and everything by heartbeat.

`queues` has the rules by which its two schedulers choose an application, `applications` how a
master asks for containers and learns of them, `policy` the task policy made of both.
"""
