"""A workload of one Python job, without a workload file: `sluice run wc.py:WordCount text/*.txt`.

The text that a workload file would have is made from the words of the command line, so the job is
checked, identified and resumed as one of a file is. Paths are relative to the working directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sluice.ingest.reading import SourceText, source_folder
from sluice.model.errors import InvalidInput

_PYTHON = re.compile(r"(?P<file>.+\.py)(:(?P<name>[^/:]+))?", re.DOTALL)


def is_python_job(target: str) -> bool:
    """Whether a target names Python code, such as FILE.py or FILE.py:Name.

    >>> [is_python_job(target) for target in ("wc.py", "a/wc.py:WordCount", "jobs.yaml", "-")]
    [True, True, False, False]
    """
    return _PYTHON.fullmatch(target) is not None


def python_job(
    target: str, inputs: Sequence[str], output: str | None, *, part_files: int | None = None
) -> SourceText:
    """The text of a workload with this job, and its origin, for `run`.

    target: FILE.py or FILE.py:Name, as `python` of a workload file.  inputs: files, folders or
    patterns.  output: a folder.  part_files: how many files the output has; None for one.
    Raises InvalidInput if an input or the output is missing.
    """
    found = _PYTHON.fullmatch(target)
    if found is None:
        raise InvalidInput("it is not FILE.py or FILE.py:Name", where=target, hint="name the code")
    if not inputs:
        raise InvalidInput(
            "no input is given", where=target, hint="name files or folders after the code"
        )
    if output is None:
        raise InvalidInput("no output is given", where=target, hint="give --output FOLDER")
    run = {"python": target, "input": list(inputs), "output": output}
    job: dict[str, Any] = {"id": found["name"] or Path(found["file"]).stem, "run": run}
    if part_files is not None:
        job["reduces"] = {"tasks": part_files}
    folder = source_folder("-")
    return SourceText(
        content=json.dumps({"version": 1, "jobs": [job]}).encode(),
        name=target,
        file=str(Path(folder, found["file"]).resolve()),
        folder=folder,
    )
