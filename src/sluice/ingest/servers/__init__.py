"""History servers: what finished jobs left with the server of their cluster.

A server is asked for jobs that are not known yet, and for nothing else. What it answers is outside
data like any log. `reading` finds out which kind of server it is; there is one file for each kind.
"""
