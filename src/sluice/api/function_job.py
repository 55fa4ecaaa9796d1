"""A workload of one job from Python functions: `sluice.run(mapper, reducer, "data/*")`.

The functions may come from a script, a notebook or a module. They are pickled by value into a
module of their own, which the tasks then load as they load any file of a user.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from sluice.ingest.reading import SourceText, source_folder
from sluice.model.errors import InvalidInput

Pairs = Callable[..., Any]

_MODULE = '''"""Functions that were given to sluice.run."""
import base64
import pickle

globals().update(pickle.loads(base64.b64decode("{content}")))
'''
_INSTALLED = {"site-packages", "dist-packages"}


class JobFunctions(NamedTuple):
    """The functions of a job: mapper(line), and combiner and reducer(key, values)."""

    mapper: Pairs
    combiner: Pairs | None
    reducer: Pairs | None

    @property
    def name(self) -> str:
        """The name of the job: that of the mapper, or `job` for a lambda or an object."""
        name = getattr(self.mapper, "__name__", "job")
        return name if name.isidentifier() else "job"


@contextmanager
def function_job(
    functions: JobFunctions,
    inputs: str | Path | Sequence[str | Path] | None,
    output: str | Path | None,
    *,
    part_files: int | None,
) -> Iterator[SourceText]:
    """The text of a workload with this job, for `run`; its module exists inside the `with`.

    inputs: files, folders or patterns, relative to the working directory.
    output: a new folder; by default a temporary one, removed when the process ends.
    part_files: how many files the output has; None for one.
    Raises InvalidInput without an input, or if a function cannot be pickled.
    """
    named = [inputs] if isinstance(inputs, str | Path) else list(inputs or ())
    if not named:
        raise InvalidInput(
            "no input is given",
            where="input",
            hint='give files, folders or patterns: sluice.run(mapper, reducer, "data/*")',
        )
    with (
        _output_or_temporary(output, functions.name) as folder_made,
        tempfile.TemporaryDirectory(prefix="sluice-functions-") as folder,
    ):
        file = Path(folder, "functions.py")
        file.write_text(_MODULE.format(content=_pickled(functions)))
        run = {
            "python": str(file),
            "input": [str(each) for each in named],
            "output": str(folder_made),
            # Modules of the caller that a function imports are found where the caller finds them.
            "env": {"PYTHONPATH": os.pathsep.join(_own_paths())},
        }
        job: dict[str, Any] = {"id": functions.name, "run": run}
        if part_files is not None:
            job["reduces"] = {"tasks": part_files}
        content = json.dumps({"version": 1, "jobs": [job]}).encode()
        yield SourceText(
            content=content, name="sluice.run", file=str(file), folder=source_folder("-")
        )


@contextmanager
def _output_or_temporary(output: str | Path | None, name: str) -> Iterator[str | Path]:
    """The given output, or one in a new temporary folder, which is removed at exit."""
    if output is not None:
        yield output
        return
    above = Path(tempfile.mkdtemp(prefix="sluice-output-"))
    try:
        yield above / name
    finally:
        try:
            above.rmdir()
        except OSError:  # it has the output
            atexit.register(_remove_of, os.getpid(), above)


def _remove_of(pid: int, folder: Path) -> None:
    """Remove a folder, unless this process is a fork of the one that made it."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _pickled(functions: JobFunctions) -> str:
    """The given functions by their parts' names, pickled by value, in base64."""
    import cloudpickle

    given = {name: each for name, each in functions._asdict().items() if each is not None}
    modules = [module for each in given.values() if (module := _own_module(each)) is not None]
    own = [one for one in dict.fromkeys(modules) if one.__name__ != "__main__"]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        return base64.b64encode(cloudpickle.dumps(given, pickle.HIGHEST_PROTOCOL)).decode()
    except (pickle.PicklingError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the functions cannot be sent to the tasks: {error}",
            where="mapper",
            hint="open files and connections inside the functions",
        ) from error
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _own_module(function: Pairs) -> ModuleType | None:
    """The module of a function, if it is the user's own and so may be missing on a node."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or not isinstance(file, str):
        return None
    parts = Path(file).parts
    is_installed = not _INSTALLED.isdisjoint(parts) or file.startswith(sys.base_prefix + os.sep)
    return None if is_installed else module


def _own_paths() -> list[str]:
    """Folders in which this process finds modules, without those of Python and of packages."""
    found = [str(Path(path or ".").absolute()) for path in sys.path]
    return [
        path
        for path in dict.fromkeys(found)
        if Path(path).is_dir()
        and _INSTALLED.isdisjoint(Path(path).parts)
        and not path.startswith(sys.base_prefix + os.sep)
    ]
