"""The questions that are answered at once, by name, with their arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sluice.bootstrap.service.activity import Activity
from sluice.bootstrap.service.kept_promises import KeptPromises
from sluice.bootstrap.service.quotas import used_by
from sluice.bootstrap.service.readable import Readable
from sluice.bootstrap.service.timeline import Timeline
from sluice.bootstrap.service.views import Views
from sluice.model.errors import InvalidInput

Answer = Mapping[str, Any]


class Questions:
    """All questions about a replica. views: its rows, for who needs more than an answer."""

    def __init__(self, replica: Readable) -> None:
        self.views = views = Views(replica)
        activity, promises = Activity(replica, views), KeptPromises(replica, views)
        timeline = Timeline(replica, views, activity)
        self._known: dict[object, Callable[..., Answer]] = {
            "jobs": views.jobs,
            "job": views.job,
            "why": views.why,
            "queues": views.queues,
            "attempts": activity.attempts,
            "attempts_between": timeline.attempts,
            "log": activity.log,
            "run_id": activity.run_id,
            "workload": activity.workload,
            "tile": timeline.tile,
            "story": activity.story,
            "nodes": activity.nodes,
            "changes": activity.changes,
            "promises": promises.promises,
            "calibration": promises.calibration,
            "counts": promises.counts,
            "own_profiles": promises.own_profiles,
            "used": partial(used_by, replica=replica),
        }

    def answer(self, question: object, given: Mapping[str, Any]) -> Answer:
        """The answer. given: the arguments of the method that answers.

        Raises InvalidInput for an unknown question, and what the method raises; TypeError for
        arguments that it does not take.
        """
        if question not in self._known:
            raise InvalidInput(
                f"unknown question {question!r:.40}", where="message", hint="use this release"
            )
        return self._known[question](**given)
