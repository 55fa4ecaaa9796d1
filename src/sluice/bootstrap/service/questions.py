"""The questions that a follower answers at once, by name, with their arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sluice.bootstrap.service.activity import Activity
from sluice.bootstrap.service.views import Views
from sluice.model.errors import InvalidInput

Answer = Mapping[str, Any]


def answer_of(
    views: Views, activity: Activity, question: object, given: Mapping[str, Any]
) -> Answer:
    """The answer. given: the arguments of the method that answers.

    Raises InvalidInput for an unknown question, and what the method raises; TypeError for others.
    """
    known: dict[object, Callable[..., Answer]] = {
        "jobs": views.jobs,
        "job": views.job,
        "why": views.why,
        "queues": views.queues,
        "attempts": activity.attempts,
        "story": activity.story,
        "nodes": activity.nodes,
        "promises": activity.promises,
        "calibration": activity.calibration,
        "counts": activity.counts,
        "changes": activity.changes,
    }
    if question not in known:
        raise InvalidInput(
            f"unknown question {question!r:.40}", where="message", hint="use this release"
        )
    return known[question](**given)
