"""The build backend: hatchling, which compiles the hot modules with mypyc while a wheel is built.

The modules are ordinary typed Python and run as they are; compiled they run about twice as fast.
Where there is no C compiler the wheel is built without, and says so. An editable install is never
compiled, so that no stale binary can hide an edited source. docs/decisions/0005 has the
figures.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.build import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from setuptools import Extension


# What an installer may ask of a backend (PEP 517 and 660).
__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

# What an event passes through on its way into the core and back, and the inner loops of the
# searches for an order. They import nothing from outside the standard library, so that compiling
# needs no other package.
COMPILED = (
    "sluice/core/record/attempt_log.py",
    "sluice/core/indexes/backlog.py",
    "sluice/core/indexes/by_kind.py",
    "sluice/core/checks.py",
    "sluice/core/entries.py",
    "sluice/core/indexes/free_slots.py",
    "sluice/core/indexes/group_sizes.py",
    "sluice/core/job_decisions.py",
    "sluice/core/indexes/job_ranking.py",
    "sluice/core/node_entry.py",
    "sluice/core/indexes/number_table.py",
    "sluice/core/indexes/observers.py",
    "sluice/core/offers.py",
    "sluice/core/indexes/open_nodes.py",
    "sluice/core/indexes/pending.py",
    "sluice/core/indexes/place_order.py",
    "sluice/core/protocols.py",
    "sluice/core/indexes/ranking.py",
    "sluice/core/record/rare_facts.py",
    "sluice/core/indexes/released_jobs.py",
    "sluice/core/faults/repeats.py",
    "sluice/core/indexes/running.py",
    "sluice/core/scheduler.py",
    "sluice/core/state.py",
    "sluice/core/indexes/touched.py",
    "sluice/planning/ordering/kernels/branch_kernel.py",
    "sluice/planning/ordering/kernels/enumeration_kernel.py",
    "sluice/planning/ordering/kernels/fifo_model.py",
    "sluice/planning/ordering/kernels/prefix_bounds.py",
    "sluice/planning/ordering/kernels/prefix_state.py",
    "sluice/planning/ordering/kernels/slot_groups.py",
    "sluice/planning/ordering/kernels/sort_and_heap.py",
    "sluice/policies/copies/candidates.py",
    "sluice/policies/copies/copy_order.py",
    "sluice/policies/copies/gate.py",
    "sluice/policies/copies/limits.py",
    "sluice/policies/data/data_waits.py",
    "sluice/policies/rooms/deadlock.py",
    "sluice/policies/decorator.py",
    "sluice/policies/data/delay.py",
    "sluice/policies/dynamicmr/cases.py",
    "sluice/policies/dynamicmr/lender.py",
    "sluice/policies/dynamicmr/loans.py",
    "sluice/policies/dynamicmr/node_offer.py",
    "sluice/policies/dynamicmr/policy.py",
    "sluice/policies/dynamicmr/pool_dependent.py",
    "sluice/policies/dynamicmr/pool_independent.py",
    "sluice/policies/dynamicmr/pools.py",
    "sluice/policies/dynamicmr/targets.py",
    "sluice/policies/orders/balance_line.py",
    "sluice/policies/orders/candidate_order.py",
    "sluice/policies/orders/fair.py",
    "sluice/policies/orders/fifo.py",
    "sluice/policies/orders/long_term.py",
    "sluice/policies/orders/order_decorator.py",
    "sluice/policies/job_order.py",
    "sluice/policies/guarded_tasks.py",
    "sluice/policies/copies/late.py",
    "sluice/policies/ltyarn/accounts.py",
    "sluice/policies/ltyarn/allocation.py",
    "sluice/policies/ltyarn/credits.py",
    "sluice/policies/ltyarn/orders.py",
    "sluice/policies/ltyarn/quanta.py",
    "sluice/policies/ltyarn/rounds.py",
    "sluice/policies/ltyarn/tree.py",
    "sluice/policies/ltyarn/turns.py",
    "sluice/policies/ltyarn/usage.py",
    "sluice/policies/rooms/nodes_alike.py",
    "sluice/policies/data/nodes_below_line.py",
    "sluice/policies/data/nodes_near_data.py",
    "sluice/policies/copies/node_scores.py",
    "sluice/policies/copies/progress_rate.py",
    "sluice/policies/rooms/composed.py",
    "sluice/policies/rooms/line.py",
    "sluice/policies/rooms/refusals.py",
    "sluice/policies/rooms/room.py",
    "sluice/policies/copies/sepb.py",
    "sluice/policies/orders/share_order.py",
    "sluice/policies/copies/slow_kill.py",
    "sluice/policies/rooms/static_slots.py",
    "sluice/policies/rooms/yarn_like.py",
    "sluice/simulation/agenda.py",
    "sluice/simulation/attempt_work.py",
    "sluice/simulation/draws.py",
    "sluice/simulation/driver.py",
    "sluice/simulation/efforts.py",
    "sluice/simulation/execution.py",
    "sluice/simulation/heartbeats.py",
    "sluice/simulation/placement.py",
    "sluice/simulation/progress.py",
)


# The lowest level that loses less than a fifth of `bench/simulator.py`: an eighth against -O3,
# which compiles half as long again.
OPTIMISATION = "1"

# Written in C, for no Python can run between a vfork and the start of a program.
IN_C = ("sluice/engines/agent/vfork.c",)

# The files of `sluice demo`, which a checkout has among its examples.
DEMO_FILES = (
    "standard_library.yaml",
    "jobs/inverted_index.py",
    "jobs/word_count.py",
    "swim/FB-2009_samples_24_times_1hr_0_first50jobs.tsv",
    "swim/LICENSE",
)


def prepare_metadata_for_build_wheel(
    metadata_directory: str,
    config_settings: dict[str, Any] | None = None,  # noqa: ARG001  # the standard's signature
) -> str:
    """Write what an installer asks first: which packages are needed; returns its folder's name.

    hatchling leaves this to the wheel where pip asks, which would compile everything twice or, as
    pip knows it, in silence.
    """
    from hatchling.builders.wheel import WheelBuilder

    builder = WheelBuilder(str(Path.cwd()))
    folder = Path(metadata_directory, f"{builder.artifact_project_id}.dist-info")
    folder.mkdir(exist_ok=True)
    text = builder.config.core_metadata_constructor(builder.metadata)
    (folder / "METADATA").write_text(text, "utf-8")
    return folder.name


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel, next to their sources, and the files of the demo."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        for name in DEMO_FILES:
            source = str(Path(self.root, "examples", name))
            build_data["force_include"][source] = f"sluice/cli/demonstration/files/{name}"
        if os.environ.get("SLUICE_PURE"):
            return
        self._folder = tempfile.TemporaryDirectory()
        try:
            made = compiled_into(
                Path(self._folder.name), Path(self.root, "src"), self.app.display_info
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001  # no compiler is no reason to fail
            self.app.display_warning(f"Sluice is built without compiled modules: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update(made)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def compiled_into(folder: Path, source: Path, say: Callable[[str], None]) -> dict[str, str]:
    """Compile the modules under `source`; returns where each file is, and its place in the wheel.

    Raises whatever mypyc or the C compiler stopped at.
    """
    from mypyc.build import mypycify
    from setuptools import Extension

    copy = folder / "src"
    # The stub of the package names all verbs, and through them every library that there is; to
    # analyse those would take minutes.
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.pyi", "__pycache__", ".*"))
    # The compilers' own talk would drown the lines that matter.
    talk = io.StringIO()
    with contextlib.chdir(copy), contextlib.redirect_stdout(talk), _said(talk):
        # A small file first: without a compiler, or Python's headers, the build is over at once and
        # not after a translation in vain.
        small = [Extension(name.removesuffix(".c").replace("/", "."), [name]) for name in IN_C]
        build_extensions(small, folder)
        say(f"Translating {len(COMPILED)} modules to C.")
        options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
        extensions = mypycify(
            [*options, *COMPILED],
            opt_level=OPTIMISATION,
            debug_level="0",
            target_dir=str(folder / "c"),
            multi_file=True,
            verbose=False,
        )
        if os.name == "posix":
            # Nothing outside of the library calls its functions by name. While that is possible,
            # the C compiler inlines none of them, and each task takes a tenth more instructions.
            for extension in extensions:
                extension.extra_compile_args.append("-fvisibility=hidden")
        files = sum(len(extension.sources) for extension in extensions)
        say(f"Compiling {files} C files on {cores()} cores; SLUICE_PURE=1 leaves it out.")
        build_extensions(extensions, folder)
    output = folder / "lib"
    return {str(path): str(path.relative_to(output)) for path in output.rglob("*.so")}


@contextlib.contextmanager
def _said(talk: io.StringIO) -> Iterator[None]:
    """Where mypyc refuses a module, raise what it said: its exit status alone says nothing."""
    try:
        yield
    except SystemExit as error:
        lines = talk.getvalue().splitlines() or [str(error)]
        raise RuntimeError(lines[-1]) from error


def build_extensions(extensions: list[Extension], folder: Path) -> None:
    """Compile and link extensions into `folder / "lib"`."""
    from setuptools import Distribution

    command = on_all_cores()(Distribution({"name": "sluice", "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()


def cores() -> int:
    """How many cores may be used."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2


def on_all_cores() -> type[Any]:
    """The command of setuptools that builds extensions, which itself compiles file by file."""
    from setuptools.command.build_ext import build_ext

    class BuildOnAllCores(build_ext):
        def build_extensions(self) -> None:
            files = [(one, file) for one in self.extensions for file in one.sources]
            # The longest first, so that no core is left with it at the end.
            files.sort(key=lambda pair: -Path(pair[1]).stat().st_size)
            with ThreadPoolExecutor(cores()) as pool:
                for one, objects in pool.map(self.compiled, files):
                    one.extra_objects += objects
            for one in self.extensions:
                one.sources = []
            super().build_extensions()

        def compiled(self, pair: tuple[Extension, str]) -> tuple[Extension, list[str]]:
            one, file = pair
            objects = self.compiler.compile(
                [file],
                output_dir=self.build_temp,
                include_dirs=one.include_dirs,
                extra_postargs=one.extra_compile_args,
            )
            return one, objects

    return BuildOnAllCores
