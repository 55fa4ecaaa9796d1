"""The Fair Scheduler's file: a plan's queues are written into it, and YARN reads it again.

YARN looks at the file every 10 seconds, and takes it up when it has not changed for 5. Comments and
elements that a plan does not name stay. The undo plan has the whole text as it was.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET  # only for text that `read_xml` has accepted

from sluice.engines.yarn.steering.changes import Change, Row
from sluice.engines.yarn.steering.present import Present
from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.ingest.scheduler_configs.xml_elements import read_xml
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.steering import SteeringPlan

RELOAD_S = 40.0  # the two waits of YARN, and a busy machine
SETTING = "allocations"
_FILE = "yarn.scheduler.fair.allocation.file"
_TAGS = ("queue", "pool")
_KEYS = (
    "weight", "minResources", "maxResources", "maxChildResources", "maxRunningApps", "maxAMShare",
    "schedulingPolicy", "allowPreemptionFrom", "minSharePreemptionTimeout",
    "fairSharePreemptionTimeout", "fairSharePreemptionThreshold", "aclSubmitApps",
    "aclAdministerApps",
)  # fmt: skip

Queues = Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True, slots=True)
class AllocationsFile:
    """fair-scheduler.xml where this process can write it."""

    path: Path

    @classmethod
    def of(cls, present: Present) -> AllocationsFile:
        """The file that the plan's caller names, or else the ResourceManager's configuration.

        Raises InvalidInput for one that is not here.
        """
        configured = present.allocations or present.rest.configured(_FILE)
        path = Path(configured or "fair-scheduler.xml")
        is_given = present.allocations is not None or path.is_absolute()
        if not is_given or not path.is_file():
            raise InvalidInput(
                f"the Fair Scheduler's file {str(path)!r} is not on this machine",
                where="--allocations",
                hint="run it where the ResourceManager runs, or give the file's path",
            )
        return cls(path)

    def text(self) -> str:
        """Return the text that the file has now. Raises InvalidInput."""
        try:
            return self.path.read_bytes().decode("utf-8")
        except (OSError, ValueError) as error:
            raise InvalidInput(f"it cannot be read: {error}", where=str(self.path)) from error

    def write(self, text: str) -> None:
        """Replace it at once, so that YARN never reads half of it. Raises InvalidInput."""
        half = self.path.with_name(f".{self.path.name}.sluice")
        try:
            half.write_bytes(text.encode("utf-8"))
            shutil.copymode(self.path, half)
            half.replace(self.path)
        except OSError as error:
            half.unlink(missing_ok=True)
            raise InvalidInput(f"it cannot be written: {error}", where=str(self.path)) from error


def allocations_changes(plan: SteeringPlan, present: Present) -> Iterator[Change]:
    """The change of the Fair Scheduler's file that a plan needs: one for all queues, or none.

    Raises InvalidInput for a key that the file does not have, or a value that YARN would refuse.
    """
    file = AllocationsFile.of(present)
    before = file.text()
    if plan.allocations is not None:
        after = plan.allocations
        rows = [Row(target=file.path.name, setting=SETTING, before="", wanted="as in the plan")]
    else:
        after, rows = _edited(before, plan.queues, file.path.name)
    queue_tree_of(after.encode(), file.path.name)
    if after == before or not rows:
        return

    def read() -> tuple[str, ...]:
        now = file.text()
        if plan.allocations is not None:
            return ("as in the plan" if now == after else "",)
        return tuple(_read_back(row, now, present) for row in rows)

    yield Change(
        rows=tuple(rows), method="WRITE", path=str(file.path),
        body={path: dict(keys) for path, keys in plan.queues.items()}, read=read,
        undo=SteeringPlan(allocations=before), write=lambda: file.write(after),
        read_back_s=RELOAD_S,
    )  # fmt: skip


def _edited(text: str, queues: Queues, name: str) -> tuple[str, list[Row]]:
    """The text with the keys of a plan, and what differs."""
    root_tag = read_xml(text.encode(), name).tag
    start, end = _span(text, root_tag)  # what comes before and after it stays as it is
    builder = ET.TreeBuilder(insert_comments=True)
    parser = ET.XMLParser(target=builder)  # noqa: S314  # read_xml has accepted it
    root = ET.fromstring(text[start:end].encode(), parser=parser)  # noqa: S314  # as above
    rows: list[Row] = []
    for path, keys in queues.items():
        element = _queue(root, path)
        for key, value in keys.items():
            if key not in _KEYS:
                raise InvalidInput(
                    f"{key!r} is not a key of the Fair Scheduler's queues",
                    where=f"queues, {path}",
                    hint=suggestion(key, list(_KEYS), f"use one of {', '.join(_KEYS)}"),
                )
            found = element.find(key)
            before = "" if found is None else (found.text or "").strip()
            if before == (value or ""):
                continue
            rows.append(Row(target=path, setting=key, before=before, wanted=value or ""))
            if found is None:
                found = ET.SubElement(element, key)
                found.tail = "\n"
            if value is None:
                element.remove(found)
            else:
                found.text = value
    body = ET.tostring(root, encoding="unicode")
    return text[:start] + body + text[end:], rows


def _span(text: str, tag: str) -> tuple[int, int]:
    """Where the element of the whole file begins and ends; comments may name it as well.

    Raises InvalidInput for an element that is not written by its own name.
    """
    marks = [
        mark
        for mark in re.finditer(rf"<!--.*?-->|</?{re.escape(tag)}\b[^>]*>", text, re.DOTALL)
        if not mark[0].startswith("<!")
    ]
    if not marks:
        raise InvalidInput("it is not a file of the Fair Scheduler", where="--allocations")
    return marks[0].start(), marks[-1].end()


def _queue(root: ET.Element, path: str) -> ET.Element:
    """The element of a queue, made where there is none. `root` itself need not be in the file."""
    names = path.split(".")[1:]
    top = _child(root, "root")
    if not names:
        return top if top is not None else _made(root, "root")
    here = root if top is None or _child(root, names[0]) is not None else top
    for name in names:
        below = _child(here, name)
        here = below if below is not None else _made(here, name)
    return here


def _child(element: ET.Element, name: str) -> ET.Element | None:
    for child in element:
        if child.tag in _TAGS and child.get("name", "").strip() == name:
            return child
    return None


def _made(parent: ET.Element, name: str) -> ET.Element:
    made = ET.SubElement(parent, "queue", {"name": name})
    made.text = made.tail = "\n"
    return made


def _read_back(row: Row, text: str, present: Present) -> str:
    """The value in the file once YARN shows it as well; "" before, where YARN shows such values."""
    _, changed = _edited(text, {row.target: {row.setting: row.wanted or None}}, "")
    if changed:
        return changed[0].before
    shown = present.fair_queues().get(row.target, {})
    key = {"maxRunningApps": "maxApps", "schedulingPolicy": "schedulingPolicy"}.get(row.setting)
    if key is None or not row.wanted or key not in shown:
        return row.wanted if shown or not row.wanted else ""
    return row.wanted if str(shown[key]).lower() == row.wanted.lower() else str(shown[key])
