"""Recalls fits that were made of the same measurements before.

A fit is a pure function of the numbers that it is made of, and predictors fitted to nearly the same
runs share most of them. So a fit is recorded under a digest of its input, and a new run costs only
the fits that it is part of. The caller keeps the records, because nothing is read or written here.
Numbers keep every bit, so a recalled fit is the fit that was made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

from sluice.estimate.fits import ModelFit, fitted_curve
from sluice.estimate.length_curves import LengthCurve, Sample, SlowDown
from sluice.estimate.overhead import Overhead, UnexplainedTime, fitted_overhead

Model = TypeVar("Model", LengthCurve, Overhead)


class FitRecords(Protocol):
    """Records of fits by key, kept by the caller."""

    def get(self, key: bytes) -> str | None:
        """The record under a key; None if there is none."""

    def put(self, key: bytes, record: str) -> None:
        """Keep a record under a key."""


class FitMemory:
    """Makes fits. records: those of earlier calls; without them, every fit is made."""

    def __init__(self, records: FitRecords | None = None) -> None:
        self._records = records

    def curve(self, samples: Iterable[Sample]) -> ModelFit[LengthCurve]:
        """See `fitted_curve`."""
        given = tuple(samples)
        return self._recalled("curve", given, lambda: fitted_curve(given), _curve)

    def overhead(self, found: Iterable[UnexplainedTime]) -> ModelFit[Overhead]:
        """See `fitted_overhead`."""
        given = tuple(found)
        return self._recalled(
            "overhead", given, lambda: fitted_overhead(given), lambda plain: Overhead(**plain)
        )

    def _recalled(
        self,
        kind: str,
        given: tuple[object, ...],
        make: Callable[[], ModelFit[Model]],
        read: Callable[[Any], Model],
    ) -> ModelFit[Model]:
        if self._records is None:
            return make()
        key = hashlib.blake2b(repr((kind, given)).encode(), digest_size=16).digest()
        record = self._records.get(key)
        if record is not None:
            model, error, why, alternatives = json.loads(record)
            return ModelFit(read(model), error, why, alternatives)
        made = make()
        plain = asdict(made.model), made.error, made.why, dict(made.alternatives)
        self._records.put(key, json.dumps(plain))
        return made


def _curve(plain: Any) -> LengthCurve:  # noqa: ANN401  # what JSON gives
    rows = tuple((tasks, length_s) for tasks, length_s in plain.pop("rows"))
    return LengthCurve(rows=rows, slow_down=SlowDown(**plain.pop("slow_down")), **plain)


EVERY_FIT = FitMemory()  # makes every fit
