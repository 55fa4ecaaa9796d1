"""Accounts survive restarts: the same events give the same accounts, byte for byte."""

import json

import pytest
from tests.policies.ltyarn_worlds import workload

from sluice.api.simulate import Scheduling, simulated
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.record.codec import decode, encode
from sluice.core.scheduler import Scheduler

APPS = [
    ("busy", "etl", 0, [1, 2.5, 0.3] * 20),
    ("late", "ads", 9.5, [1.1] * 30),
    ("later", "ads", 12.25, [2] * 5, {"units": 2}),
]
SETTINGS = {
    "ltyarn": {"ltyarn.round_s": 20, "ltyarn.discount_price": 0.5},
    "ltrf": {},
    "karma": {"karma.alpha": 0.5, "karma.initial_credits": 10},
    "decay": {"decay.half_life_s": 7},
}


def bytes_of(scheduler):
    return json.dumps(scheduler.policies.tasks.report()).encode()


@pytest.mark.interpreted
@pytest.mark.parametrize("tasks", SETTINGS)
def test_a_fresh_scheduler_rebuilds_the_accounts_from_the_journal(tasks, monkeypatch):
    """The events go through the text of the journal."""
    lines = []
    handle = Scheduler.handle

    def heard(self, event):
        lines.append(encode(event).encode())
        return handle(self, event)

    monkeypatch.setattr(Scheduler, "handle", heard)
    load = workload(3, ["etl", "ads"], APPS)
    run, _ = simulated(load, Scheduling(tasks, settings=SETTINGS[tasks]))
    monkeypatch.undo()

    again = scheduler_for(
        settings=resolved_settings({}, SETTINGS[tasks]), tasks=tasks, pools=load.pools
    )
    for line in lines:
        again.handle(decode(line))

    assert b"used_container_s" in bytes_of(run)
    assert bytes_of(run) == bytes_of(again)
