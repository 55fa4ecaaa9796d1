"""A workload as a file: YAML, or JSON if the name ends in .json.

Sluice reads plain YAML words in its own way (numbers are as in JSON). A text is quoted if that
reader would take it for something else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from sluice.ingest.reading import source_folder
from sluice.ingest.yaml_notation import plain_value
from sluice.model.arguments import checked_arguments
from sluice.model.workload import Workload
from sluice.reporting.exports.workload_document import workload_document
from sluice.store.whole_file import whole_file

_WIDTH = 100

Relative = Callable[[str], str]  # a path, made relative to another folder


class _Dumper(yaml.SafeDumper):
    """Writes collections without nested collections on one line, and the others as blocks."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401  # the library's own signature
        """Equal parts are written out each time, without references."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Outside double quotes YAML folds line breaks of any kind.
    is_misread = plain_value(text) != text or not text.isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if is_misread else None)


_Dumper.add_representer(str, _text)


def workload_text(document: Mapping[str, Any], *, name: str, comment: str = "") -> str:
    """The text of the file. name: of the file; JSON, without comment, if it ends in .json."""
    if Path(name).suffix.lower() == ".json":
        return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    return comment_text(comment) + yaml_text(document)


def comment_text(comment: str) -> str:
    """A comment in YAML, with a mark before each line."""
    return "".join(f"# {_printable(line)}\n" for line in comment.splitlines())


def yaml_text(document: Mapping[str, Any]) -> str:
    """A document in YAML, in the order of its keys."""
    body = yaml.dump(
        dict(document),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=None,
    )
    return str(body)


def _printable(line: str) -> str:
    """A file name may have characters that a text file may not."""
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def moved(document: Mapping[str, Any], *, folder: str, to: str) -> dict[str, Any]:
    """The document with the relative paths of its jobs' `run` made relative to another folder.

    folder: what they are relative to now.  to: what they are relative to afterwards.
    """
    here, there = Path(folder).resolve(), Path(to).resolve()
    if here == there:
        return dict(document)

    def relative(path: str) -> str:
        return path if Path(path).is_absolute() else os.path.relpath(here / path, there)

    jobs = [_moved_job(job, relative) for job in document.get("jobs") or ()]
    return {**document, "jobs": jobs}


def _moved_job(job: Mapping[str, Any], relative: Relative) -> Mapping[str, Any]:
    if not job.get("run"):
        return job
    moved_job = {**job, "run": _moved_run(job["run"], relative)}
    if job.get("phases"):
        moved_job["phases"] = [
            {**one, "run": _moved_run(one["run"], relative)} if one.get("run") else one
            for one in job["phases"]
        ]
    return moved_job


def _moved_run(run: Mapping[str, Any], relative: Relative) -> dict[str, Any]:
    document = dict(run)
    if run.get("input"):
        document["input"] = [relative(path) for path in run["input"]]
    if run.get("output"):
        document["output"] = relative(run["output"])
    if run.get("python"):
        file_name, colon, name = str(run["python"]).partition(":")
        document["python"] = f"{relative(file_name)}{colon}{name}"
    return document


@checked_arguments
def write_workload(path: str | Path, workload: Workload, *, comment: str = "") -> None:
    """Write it as YAML, or as JSON if the name ends in .json. Paths of `run` become relative to it.

    comment: first lines of a YAML file.
    Raises InvalidInput for a job of many stages, which a file cannot express.
    """
    text = workload_file_text(workload, path=str(path), comment=comment)
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def workload_file_text(workload: Workload, *, path: str, comment: str = "") -> str:
    """The text that `write_workload` writes to this path."""
    document = moved(workload_document(workload), folder=workload.folder, to=source_folder(path))
    return workload_text(document, name=path, comment=comment)
