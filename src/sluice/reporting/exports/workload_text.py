"""A workload document as the text of a file: YAML, or JSON where the name says so.

YAML has many ways to read a plain word, and Sluice's reader has one of its own (numbers as JSON has
them). So a text is put in quotes wherever that reader would take it for something else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sluice.ingest.yaml_notation import plain_value

_WIDTH = 100


class _Dumper(yaml.SafeDumper):
    """Blocks down to what holds no further collection: that stands on one line."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401  # the library's own signature
        """Equal parts are written out, each where it stands."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # JobOrder breaks of any kind are folded outside double quotes.
    is_misread = plain_value(text) != text or not text.isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if is_misread else None)


_Dumper.add_representer(str, _text)


def workload_text(document: Mapping[str, Any], *, name: str, comment: str = "") -> str:
    """The text. name: of the file; one that ends in .json is written as JSON, without comment."""
    if Path(name).suffix.lower() == ".json":
        return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    head = "".join(f"# {_printable(line)}\n" for line in comment.splitlines())
    body = yaml.dump(
        dict(document),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=None,
    )
    return head + str(body)


def _printable(line: str) -> str:
    """A file's name may hold what no text file may."""
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def moved(document: Mapping[str, Any], *, folder: str, to: str) -> dict[str, Any]:
    """The document with the relative paths of its jobs' `run` told from another folder.

    folder: where they start now.  to: where they shall start.
    """
    here, there = Path(folder).resolve(), Path(to).resolve()
    if here == there:
        return dict(document)

    def told(path: str) -> str:
        return path if Path(path).is_absolute() else os.path.relpath(here / path, there)

    jobs = [
        {**job, "run": _moved_run(job["run"], told)} if job.get("run") else job
        for job in document.get("jobs") or ()
    ]
    return {**document, "jobs": jobs}


def _moved_run(run: Mapping[str, Any], told: Any) -> dict[str, Any]:  # noqa: ANN401  # a function of paths
    document = {
        **run,
        "input": [told(path) for path in run["input"]],
        "output": told(run["output"]),
    }
    if run.get("python"):
        file_name, colon, name = str(run["python"]).partition(":")
        document["python"] = f"{told(file_name)}{colon}{name}"
    return document
