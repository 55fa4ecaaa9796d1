"""A job's `_conf.xml`: the settings that bear on how fast it runs.

A configuration holds about a thousand settings, most of them defaults of the cluster, and some of
them secrets. So only those named here are kept, under the names that Hadoop uses today whichever
name the file uses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from sluice.ingest.logs.hadoop_values import text
from sluice.ingest.logs.limits import MIB, Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Report
from sluice.model.errors import InvalidInput

JOB_NAME = "mapreduce.job.name"
_FILE_BYTES_MAX = 16 * MIB
_LEVELS_MAX = 20

_NAMES = {  # today's name: the older ones
    JOB_NAME: ("mapred.job.name",),
    "dfs.blocksize": ("dfs.block.size",),
    "mapreduce.input.fileinputformat.split.maxsize": ("mapred.max.split.size",),
    "mapreduce.input.fileinputformat.split.minsize": ("mapred.min.split.size",),
    "mapreduce.job.jvm.numtasks": ("mapred.job.reuse.jvm.num.tasks",),
    "mapreduce.job.maps": ("mapred.map.tasks",),
    "mapreduce.job.reduce.slowstart.completedmaps": ("mapred.reduce.slowstart.completed.maps",),
    "mapreduce.job.reduces": ("mapred.reduce.tasks",),
    "mapreduce.job.running.map.limit": (),
    "mapreduce.job.running.reduce.limit": (),
    "mapreduce.job.ubertask.enable": (),
    "mapreduce.map.combine.minspills": ("min.num.spills.for.combine",),
    "mapreduce.map.cpu.vcores": (),
    "mapreduce.map.memory.mb": ("mapred.job.map.memory.mb",),
    "mapreduce.map.output.compress": ("mapred.compress.map.output",),
    "mapreduce.map.output.compress.codec": ("mapred.map.output.compression.codec",),
    "mapreduce.map.sort.spill.percent": ("io.sort.spill.percent",),
    "mapreduce.map.speculative": ("mapred.map.tasks.speculative.execution",),
    "mapreduce.output.fileoutputformat.compress": ("mapred.output.compress",),
    "mapreduce.reduce.cpu.vcores": (),
    "mapreduce.reduce.input.buffer.percent": ("mapred.job.reduce.input.buffer.percent",),
    "mapreduce.reduce.memory.mb": ("mapred.job.reduce.memory.mb",),
    "mapreduce.reduce.shuffle.input.buffer.percent": (
        "mapred.job.shuffle.input.buffer.percent",
    ),
    "mapreduce.reduce.shuffle.merge.percent": ("mapred.job.shuffle.merge.percent",),
    "mapreduce.reduce.shuffle.parallelcopies": ("mapred.reduce.parallel.copies",),
    "mapreduce.reduce.speculative": ("mapred.reduce.tasks.speculative.execution",),
    "mapreduce.task.io.sort.factor": ("io.sort.factor",),
    "mapreduce.task.io.sort.mb": ("io.sort.mb",),
    "mapreduce.task.io.sort.record.percent": ("io.sort.record.percent",),
}  # fmt: skip
_TODAYS = {old: name for name, olds in _NAMES.items() for old in (name, *olds)}


def configuration_of(path: Path, report: Report, limits: Limits) -> dict[str, str]:
    """The settings of a `_conf.xml` that are kept, by today's names, in their order.

    A file that cannot be read, or not to its end, is reported: then the settings before it count.
    """
    small = dataclasses.replace(
        limits, whole_bytes_max=min(limits.whole_bytes_max, _FILE_BYTES_MAX)
    )
    try:
        content = log_bytes(path, report, small)
    except InvalidInput as error:
        report.skip(0, f"{error.what}: it is left out")
        return {}
    return kept_settings(_properties(content, report))


def kept_settings(settings: Iterable[tuple[str, object]]) -> dict[str, str]:
    """The settings that are kept, out of all that a job has.

    >>> kept_settings([("io.sort.mb", "100"), ("fs.s3a.secret.key", "x")])
    {'mapreduce.task.io.sort.mb': '100'}
    """
    found: dict[str, str] = {}
    for name, value in settings:
        if name in _TODAYS and isinstance(value, str):
            found[_TODAYS[name]] = text(value)
    return dict(sorted(found.items()))


def _properties(content: bytes, report: Report) -> Iterator[tuple[str, str]]:
    """Names and values; each element is dropped once it is read, so memory stays small."""
    from defusedxml import DefusedXmlException  # type: ignore[import-untyped]  # it has no types
    from defusedxml.ElementTree import ParseError, iterparse  # type: ignore[import-untyped]  # as above

    level, root = 0, None
    try:
        for event, element in iterparse(BytesIO(content), events=("start", "end"), forbid_dtd=True):
            root = element if root is None else root
            level += 1 if event == "start" else -1
            if level > _LEVELS_MAX:
                report.skip(0, f"nested deeper than {_LEVELS_MAX} levels: the rest is left out")
                return
            if level == 1 and event == "end":
                yield from _property(element)
                root.clear()
    except ParseError as error:
        report.skip(error.position[0], f"no XML from here on: {error}")
    except (DefusedXmlException, LookupError, ValueError) as error:
        # LookupError, ValueError: an unknown encoding, or a wrong one.
        report.skip(0, f"the rest is left out: {error}")


def _property(element: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # defusedxml has no types
    name, value = element.findtext("name"), element.findtext("value")
    if element.tag == "property" and name and value is not None:
        yield name.strip(), value
