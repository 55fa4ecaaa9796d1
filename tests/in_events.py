"""The simulator with its scheduler behind events and commands, as live engines speak to it."""

import math

from sluice.core.commands import Launch
from sluice.core.events import JobSubmitted, NodeHeartbeat, TaskFinished, TaskProgress, Tick
from sluice.core.offers import Decisions
from sluice.simulation.driver import Simulation


class InEvents:
    """A scheduler whose every call becomes an event; commands become what the driver takes."""

    def __init__(self, scheduler):
        self._scheduler = scheduler

    def __getattr__(self, name):
        return getattr(self._scheduler, name)

    def decide(self, event):
        found = Decisions()
        for command in self._scheduler.handle(event):
            is_start = type(command) is Launch
            found.add(self.state.running[command.key] if is_start else command)
        return found

    def submit(self, at_s, job, locations, *, alike, is_last):
        return self.decide(JobSubmitted(at_s, job, locations, alike, is_last))

    def finish_attempt(self, attempt, at_s, finished_at_s, shuffled_at_s):
        shuffled = None if math.isnan(shuffled_at_s) else shuffled_at_s
        return self.decide(TaskFinished(at_s, attempt.key, finished_at_s, attempt.tasks, shuffled))

    def report_progress(self, attempts, at_s):
        for attempt in attempts:
            self._scheduler.handle(TaskProgress(at_s, attempt.key, attempt.progress))

    def complete_instant(self, at_s):
        return self.decide(Tick(at_s))


def speak_in_events(patch):
    """From now on simulations speak in events; patch: what undoes it."""
    plain = Simulation.__init__

    def init(self, scheduler, *args, **kwargs):
        spoken_to = scheduler if isinstance(scheduler, InEvents) else InEvents(scheduler)
        plain(self, spoken_to, *args, **kwargs)

    patch.setattr(Simulation, "__init__", init)


def look_after_decisions(scheduler, look):
    """Call `look(event)` after each Tick and heartbeat, in whichever way the driver speaks.

    Returns the list of these events, so that a test can assert that it looked at any.
    """
    seen = []
    decide, complete = scheduler.decide, scheduler.complete_instant

    def after(event, decisions):
        if isinstance(event, Tick | NodeHeartbeat):
            seen.append(event)
            look(event)
        return decisions

    scheduler.decide = lambda event: after(event, decide(event))
    scheduler.complete_instant = lambda at_s: after(Tick(at_s), complete(at_s))
    return seen
