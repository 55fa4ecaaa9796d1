"""Why a job waited at an instant of the past: the journal is read again up to it."""

from __future__ import annotations

import math
import time
from datetime import datetime
from typing import Any

from sluice.bootstrap.service.futures import instant
from sluice.bootstrap.service.replica import PastReplica, Replica
from sluice.bootstrap.service.views import Views
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.store.service.segments import chain_of, kept_from_s


def past_why(replica: Replica, job_id: str, at: str, tenant: str | None) -> dict[str, Any]:
    """The document of `why` for an instant, ISO 8601, of the present segment.

    It takes as long as it takes to read the journal up to there. Raises InvalidInput for an instant
    before the job was submitted, of a part of the journal that was removed, or in the future.
    """
    known = replica.jobs.get(JobId(job_id))
    if known is None:
        raise InvalidInput(f"there is no job {job_id!r:.60}", where="job_id")
    wall_s = datetime.fromisoformat(at).timestamp()
    came_at_s = known.workload.made_at_s
    if wall_s > time.time() + 1:
        raise InvalidInput("it is in the future", where="at", hint="leave it out to ask about now")
    if wall_s < math.floor(came_at_s):  # people write whole seconds
        raise InvalidInput(
            "the job had not been submitted then",
            where="at",
            hint=f"it came at {instant(came_at_s)}",
        )
    first = chain_of(replica.newest)[0]
    kept_s = kept_from_s(first)
    if kept_s is not None and wall_s < kept_s:
        raise InvalidInput(
            f"the history is kept from {instant(kept_s)} on", where="at", hint="ask about later"
        )
    then = PastReplica(first, replica.at_s(max(wall_s, came_at_s)))
    found = Views(then).why(JobId(job_id), tenant)
    return {**found, "at": instant(wall_s)}
