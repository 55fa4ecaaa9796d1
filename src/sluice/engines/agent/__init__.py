"""The node agent: one long-lived process per node that starts, watches and ends attempts.

It knows no engine: it reads commands and writes reports as JSON lines, on its standard input and
output, so that the same program serves a local run, a remote actor and a container. Source:
engines spec, sections 1, 4 and 8. How it works:

* **One thread.** Death signals are tied to the forking thread (engines spec, section 4), and a
  process without threads may fork. Everything that can happen comes through one selector.
* **An attempt is a session.** Its leader is a child of the agent and dies with it
  (PR_SET_PDEATHSIG). It is ended by its process group: SIGTERM, and SIGKILL after a grace.
* **A command is forked from the agent and replaced at once.** The agent imports little and stays
  small, because a fork costs what the page tables of its parent cost.
* **Any other work is forked from an interpreter host** (`hosts`), which has imported the user's
  code once per job. The host steps aside: each attempt becomes a child of the agent itself,
  which is its subreaper, so that `wait4` gives the usage of the attempt and a bad user module
  harms its own host only.
* **Nothing survives.** The agent is the subreaper of all that it starts, so what an attempt
  leaves behind becomes a child of the agent (`strays`) and is ended before the attempt's end is
  reported. When its standard input ends, its engine is gone: it ends everything and itself.

Commands (`do`): launch {id, work, limits, grace_s}, kill {id, reason}, list, stop {kill}, and
beat {every_s}, which asks for heartbeats.
Reports (`report`): up {pid}, beat, started {id, pid, at}, progress {id, fraction, shuffled_at},
finished {id, at, usage, outputs, shuffled_at}, failed {id, at, kind, detail, usage, blames, cause},
list {ids}. Instants are seconds of CLOCK_MONOTONIC. Each launch is answered by exactly one
finished or failed, unless the agent itself ends first.

`usage` is what `wait4` says of the leader and of the descendants that it waited for. Its peak
memory is never below that of the image it was forked from: about 9 MiB for a command, and the
size of its host for other work, because the kernel carries the mark over fork and exec.
"""
