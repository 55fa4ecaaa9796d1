"""One history server: which kind it is, and the runs that it has and the store has not."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.options import rules_in
from sluice.ingest.logs.profile_names import ProfileRules
from sluice.ingest.logs.report import LogRead, Skipped, Unreadable
from sluice.ingest.servers import mapreduce, spark
from sluice.ingest.servers.web import WebServer
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun

Known = Callable[[str], Collection[str]]
RUNS_AT_ONCE = 100  # of MapReduce: so many are kept before the next are asked for


def read_server(
    address: str, known: Known, options: Mapping[str, object] | None = None
) -> Iterator[LogRead]:
    """The runs of a history server that are not known, some at a time.

    known: the ids of the runs of a log format that need not be read again.
    Raises InvalidInput where no history server answers.
    """
    server = WebServer(address)
    if _answers(server, mapreduce.PROBE):
        yield from _of_mapreduce(server, known(mapreduce.FORMAT), options or {})
    elif _answers(server, spark.PROBE):
        yield from _of_spark(server, known("spark"), options or {})
    else:
        raise InvalidInput(
            "it is no history server",
            where=address,
            hint="give that of MapReduce (port 19888) or of Spark (port 18080)",
        )


def _answers(server: WebServer, path: str) -> bool:
    try:
        server.json(path)
    except Unreadable:
        return False
    return True


def _of_mapreduce(
    server: WebServer, known: Collection[str], options: Mapping[str, object]
) -> Iterator[LogRead]:
    rules = ProfileRules(rules_in(options))
    found: list[PastRun] = []
    skipped: list[Skipped] = []
    try:
        for one in mapreduce.runs(server, known):
            if isinstance(one, PastRun):
                found.append(rules.renamed(one))
            else:
                skipped.append(Skipped(0, ": ".join(one)))
            if len(found) == RUNS_AT_ONCE:
                yield _read(server, found, skipped)
                found, skipped = [], []
    except Unreadable as error:
        raise InvalidInput(
            f"its list of jobs cannot be read: {error}", where=server.base, hint="check the address"
        ) from error
    yield _read(server, found, skipped)


def _read(server: WebServer, runs: list[PastRun], skipped: list[Skipped]) -> LogRead:
    return LogRead(
        path=server.base,
        format=mapreduce.FORMAT,
        runs=tuple(runs),
        skipped=tuple(skipped),
        skipped_count=len(skipped),
        notes=() if runs or skipped else ("All its jobs are known.",),
    )


def _of_spark(
    server: WebServer, known: Collection[str], options: Mapping[str, object]
) -> Iterator[LogRead]:
    has_any = False
    with tempfile.TemporaryDirectory(prefix="sluice-import-") as folder:
        try:
            for one in spark.event_logs(server, known, Path(folder)):
                has_any = True
                yield _log(server, one, options)
        except Unreadable as error:
            raise InvalidInput(
                f"its list of applications cannot be read: {error}",
                where=server.base,
                hint="check the address",
            ) from error
    if not has_any:
        note = ("All its applications are known.",)
        yield LogRead(path=server.base, format="spark", runs=(), notes=note)


def _log(server: WebServer, one: Path | tuple[str, str], options: Mapping[str, object]) -> LogRead:
    if isinstance(one, tuple):
        return LogRead(
            path=f"{server.base}/{one[0]}", format=None, runs=(), skipped=(Skipped(0, one[1]),),
            skipped_count=1,
        )  # fmt: skip
    try:
        read = read_log(one, "spark", options)
    except InvalidInput as error:
        return LogRead(
            path=f"{server.base}/{one.name}", format="spark", runs=(),
            skipped=(Skipped(0, error.what),), skipped_count=1,
        )  # fmt: skip
    return replace(read, path=f"{server.base}/{one.name.partition('-')[2]}")
