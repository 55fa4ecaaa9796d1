"""What submissions were answered: a key that comes again gets the same answer."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.store.service.submissions import SubmittedWorkload

KEYS_S = 7 * 86400.0  # how long a key is remembered

Answer = dict[str, Any]


def answer_of(workload: SubmittedWorkload) -> Answer:
    """Return what the user gets who submits it, each time that its key comes again."""
    return {
        "jobs": [
            {"job_id": each.job_id, "name": each.name, **each.promise} for each in workload.jobs
        ]
    }


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a submission was answered, for as long as its key may come again.

    answer: as JSON, compressed, because there is one for each submission of a week.
    """

    digest: str
    made_at_s: float
    answer: bytes

    @classmethod
    def of(cls, workload: SubmittedWorkload) -> KeptAnswer:
        answer = zlib.compress(json.dumps(answer_of(workload)).encode())
        return cls(workload.digest, workload.made_at_s, answer)

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
        answer: Answer = json.loads(zlib.decompress(self.answer))
        return answer | {"is_repeated": True}
