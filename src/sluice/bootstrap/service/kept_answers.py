"""The answers to submissions: a key that comes again gets the same answer."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.store.service.submissions import SubmittedWorkload

KEYS_S = 7 * 86400.0  # how long a key is remembered

Answer = dict[str, Any]

# What most answers have, so that each compresses to less than half. Openings hold answers that were
# compressed by it, so that it must not change.
_USUAL = (
    b'"decision": "accepted_without_promise", "why_not": "no forecast was ready in time",'
    b' "past runs" "as_of_seq": 1000, "promise_id": "promise-job-000000", "tenant": "local",'
    b'{"jobs": [{"job_id": "job-000000", "name": "nightly", "made_at": "2026-01-01T00:00:00.000Z",'
    b' "decision": "accepted", "why_not": null, "starts_at": {"expected":'
    b' "2026-01-01T00:00:00.000Z", "low": "2026-01-01T00:00:00.000Z", "high":'
    b' "2026-01-01T00:00:00.000Z"}, "ends_at": {"expected": "2026-01-01T00:00:00.000Z", "low":'
    b' "2026-01-01T00:00:00.000Z", "high": "2026-01-01T00:00:00.000Z"}, "level": 0.9, "cost_usd":'
    b' {"expected": 0.0, "low": 0.0, "high": 0.0}, "price_rule": null, "deadline_at": null,'
    b' "deadline_probability": null, "deadline_guaranteed": false, "reason": null,'
    b' "counter_offers": [], "basis": {"profile": null, "runs": 0, "model": "lengths of the file",'
    b' "replications": 20}}]}'
)


def answer_of(workload: SubmittedWorkload) -> Answer:
    """Return what the user gets who submits it, each time that its key comes again."""
    return {
        "jobs": [
            {"job_id": each.job_id, "name": each.name, **each.promise} for each in workload.jobs
        ]
    }


def packed(value: Mapping[str, Any]) -> bytes:
    """A value like those that users are answered with, as JSON in little room."""
    packer = zlib.compressobj(zdict=_USUAL)
    return packer.compress(json.dumps(value).encode()) + packer.flush()


def unpacked(text: bytes) -> dict[str, Any]:
    """The value that `packed` made smaller."""
    value: dict[str, Any] = json.loads(zlib.decompressobj(zdict=_USUAL).decompress(text))
    return value


class KeptPromise(Mapping[str, Any]):
    """A promise that is read now and then, in 0.2 KB instead of 4: a follower keeps each for good.

    What was read last is kept as it is, for a row of a list asks several times.
    """

    __slots__ = ("_text",)

    def __init__(self, promise: Mapping[str, Any]) -> None:
        self._text: bytes = packed(promise)

    def __getitem__(self, key: str) -> object:
        return _newest_read(self._text)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_newest_read(self._text))

    def __len__(self) -> int:
        return len(_newest_read(self._text))


_newest_read = lru_cache(maxsize=64)(unpacked)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to a submission, kept for as long as its key may come again.

    answer: as JSON, compressed, because there is one for each submission of a week.
    """

    digest: str
    made_at_s: float
    answer: bytes

    @classmethod
    def of(cls, workload: SubmittedWorkload) -> KeptAnswer:
        return cls(workload.digest, workload.made_at_s, packed(answer_of(workload)))

    def plain(self) -> tuple[str, float, str]:
        return self.digest, self.made_at_s, b64encode(self.answer).decode()

    @classmethod
    def of_plain(cls, digest: str, made_at_s: float, answer: str) -> KeptAnswer:
        return cls(digest, made_at_s, b64decode(answer))

    def is_old(self, now_s: float) -> bool:
        return now_s - self.made_at_s >= KEYS_S

    def repeated(self, digest: str) -> Answer:
        if self.digest != digest:
            raise InvalidInput(
                "the key was used for other jobs",
                where="--idempotency-key",
                hint="give a key of its own to each submission",
            )
        return unpacked(self.answer) | {"is_repeated": True}
