"""Write the types of names in `sluice.model.name_types` from what is registered: `make names`.

With --check nothing is written; the exit status says whether the file is up to date.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path

from sluice.api import plan, pools, share
from sluice.bootstrap.engines.registry import BUILT_IN as ENGINES
from sluice.bootstrap.presets import AUTO as AUTO_PRESET
from sluice.bootstrap.presets import RECOMMENDED
from sluice.estimate.bounds import Bound, SingleWave
from sluice.estimate.calibration import LeaveOut
from sluice.estimate.nights import OneNight
from sluice.ingest.logs.registry import AUTO
from sluice.ingest.logs.registry import BUILT_IN as FORMATS
from sluice.model.machines import Rent
from sluice.planning.flow_shops.solver import FlowMethod
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.solver import OrderingMethod
from sluice.planning.pareto.plan_search import PlanSearch
from sluice.planning.pareto.problem import IoModel
from sluice.planning.sharing.problem import POLICIES as SHARING
from sluice.planning.stages.solver import StageMethod
from sluice.policies import members
from sluice.policies.composition import AXES, PRESETS
from sluice.reporting.run.chart_kinds import BUILT_IN as CHARTS
from sluice.reproductions import REPRODUCTIONS

FILE = Path(__file__).parents[1] / "src" / "sluice" / "model" / "name_types.py"
HEAD = '''\
"""The names that public functions take, as types: editors offer them, type checkers know them.

`make names` writes this file from what is registered; a test compares the two. Functions take any
other text as well: a name may be that of another package's policy, or FILE.py:Class, or come from a
command line. What is not known is refused with the nearest name.
"""

from __future__ import annotations

from typing import Literal

'''


def _values(enum: Iterable[Enum]) -> list[str]:
    return [str(one.value) for one in enum]


REGISTERED: Mapping[str, Iterable[str]] = {
    "TaskPolicyName": sorted({*members("tasks"), *PRESETS}),
    "ReleasePolicyName": members("release"),
    "AdmissionPolicyName": members("admission"),
    "OrderName": AXES["order"],
    "GoalsName": AXES["goals"],
    "SlotsName": AXES["slots"],
    "CopiesName": AXES["copies"],
    "DataName": AXES["data"],
    "MachinesName": AXES["machines"],
    "PresetName": (*RECOMMENDED, AUTO_PRESET, *PRESETS),
    "VmPolicyName": pools.POLICIES,
    "VmServiceName": pools.SERVICES,
    "SharingPolicyName": SHARING,
    "LeftoversName": share.LEFTOVERS,
    "EngineName": ENGINES,
    "LogFormatName": (AUTO, *FORMATS),
    "ChartName": CHARTS,
    "EvaluationName": REPRODUCTIONS,
    "BoundName": _values(Bound),
    "OrderingMethodName": dict.fromkeys(
        (*_values(OrderingMethod), *_values(StageMethod), *_values(FlowMethod))
    ),
    "ObjectiveName": _values(Objective),
    "PlanSearchName": _values(PlanSearch),
    "TuningName": plan.TUNINGS,
    "SingleWaveName": _values(SingleWave),
    "IoModelName": _values(IoModel),
    "RentName": _values(Rent),
    "OneNightName": _values(OneNight),
    "LeaveOutName": _values(LeaveOut),
}


def text() -> str:
    """The whole file."""
    return HEAD + "".join(_type(name, names) for name, names in REGISTERED.items())


def _type(name: str, names: Iterable[str]) -> str:
    quoted = ", ".join(f'"{one}"' for one in names)
    line = f"{name} = Literal[{quoted}]\n"
    if len(line) <= 101:
        return line
    # Hyphens are parts of names.
    lines = textwrap.fill(quoted + ",", 96, break_on_hyphens=False, break_long_words=False)
    return f"{name} = Literal[\n{textwrap.indent(lines, ' ' * 4)}\n]  # fmt: skip\n"


def main() -> str | None:
    """Write the file, or say that it is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if it differs")
    if not parser.parse_args().check:
        FILE.write_text(text(), "utf-8")
        return None
    is_equal = FILE.read_text("utf-8") == text()
    return None if is_equal else f"{FILE.name} is not up to date: run `make names`"


if __name__ == "__main__":
    sys.exit(main())
