"""The decisions of a scheduler on the recorded events of a live run.

    python -m tests.live.recorded_decisions RUN_FOLDER

prints how many decisions there are and their digest, for processes with other hash seeds to be
compared.
"""

import hashlib
import sys
from pathlib import Path

from sluice.api.sources import load_workload
from sluice.bootstrap.live.run_options import RunOptions, scheduler_part
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.record.codec import decision_line
from sluice.engines.driver_state import DriverState
from sluice.engines.recovery import replay
from sluice.store.rows import EntryKind, entries, header_and_end


def events_of(run):
    """The events that the journal of a run holds."""
    return [entry.event() for entry in entries(run) if entry.kind is EntryKind.EVENT]


def decisions(run, *, is_live, **settings):
    """The decisions on each event, as lines, by a fresh scheduler like that of the run."""
    scheduler = scheduler_like(run, is_live=is_live, **settings)
    return [decision_line(scheduler.handle(event)) for event in events_of(run)]


def scheduler_like(run, *, is_live, **settings):
    """A fresh scheduler with the policies and settings of a run, and these over them."""
    header, _ = header_and_end(run)
    plan, heard = RunOptions.of(header), load_workload(header.source).settings
    return scheduler_for(
        settings=resolved_settings({**heard, **settings}, plan.settings),
        tasks=plan.tasks,
        release=plan.release,
        admission=plan.admission,
        pools=scheduler_part(header).pools,
        is_live=is_live,
    )


def checks_out(run):
    """Whether a replay finishes, each decision being the one that was noted; raises if not."""
    return replay(entries(run), DriverState(scheduler_like(run, is_live=True)))


def main():
    """Print how many there are, and their digest."""
    lines = decisions(Path(sys.argv[1]), is_live=True)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    sys.stdout.write(f"{len(lines)} {digest}\n")


if __name__ == "__main__":
    main()
