"""How many small mistakes in the sources the tests notice: `make mutants`.

Cosmic Ray makes the mistakes, one at a time: `<` becomes `<=`, a 1 becomes a 2, a loop never runs.
First the quick tests of the seven floors run once without a mistake, to learn which functions each
calls and the CPU time it takes (`tests/reach.py`; `build/` keeps that for the next seed). Then a
process is forked for each mistake. It imports the changed text in place of the file, and runs the
nearest and shortest tests that call the function, until one fails or takes `TEST_S_MAX` of CPU.
At the end the tests that failed run without a mistake, and must pass.
The files stay as they are. A Python that a test starts makes the same mistake (`for_started`).

The sample is spread evenly over the places where a mistake is possible, so each folder and file has
its share. The same seed gives the same sample, and Hypothesis draws the same examples.

Left out is what no test should notice: types, decorators, the star before arguments that have
names, the numbers inside a message, and what cannot happen: assertions, and `strict=True`. Known
survivors have a line in `mutants.toml`.
"""

import argparse
import difflib
import inspect
import json
import os
import random
import resource
import signal
import sys
import tempfile
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import SourceFileLoader
from itertools import accumulate
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import MutationSpec
from parso.python.tree import Function
from parso.tree import NodeOrLeaf
from tests.reach import DECLARED, FLOORS, HOUSE, PACKAGE, Reach, in_child, reached, run_tests

NOTICED_MIN = 0.85
TESTS_MAX, TESTS_S_MAX = 100, 20.0  # for each mistake: tests, and CPU seconds without it
TEST_S_MAX = 20  # of CPU: a mistake may make a loop endless
BYTES_MAX = 6 << 30  # and fill the memory

_BINARY = (
    "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul "
    "BitAnd_BitOr BitOr_BitAnd LShift_RShift RShift_LShift"
)
_COMPARISON = (
    "Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt"
)
_OTHER = (
    "ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_USub AddNot NumberReplacer "
    "ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd "
    "ReplaceBreakWithContinue ReplaceContinueWithBreak ZeroIterationForLoop ExceptionReplacer"
)
OPERATORS = (
    *(f"core/ReplaceBinaryOperator_{change}" for change in _BINARY.split()),
    *(f"core/ReplaceComparisonOperator_{change}" for change in _COMPARISON.split()),
    *(f"core/{name}" for name in _OTHER.split()),
)
_LEFT_OUT = {"assert_stmt", "decorator", "fstring", "tfpdef"}  # the last: a parameter with its type


class Verdict(NamedTuple):
    """The outcome of a mistake.

    change: (file, before, after).  noticed_by: the test that failed; "" if it survived.
    """

    change: tuple[str, str, str]
    noticed_by: str


def mistakes(root: Path, path: Path) -> dict[tuple[int, int], list[MutationSpec]]:
    """The mistakes that can be made in a file, by the line and column where they are made."""
    nodes = list(ast_nodes(get_ast_from_path(root / path)))
    found: dict[tuple[int, int], list[MutationSpec]] = {}
    for name in OPERATORS:
        operator = get_operator(name)()
        positions = ((node, *pair) for node in nodes for pair in operator.mutation_positions(node))
        for occurrence, (node, start, end) in enumerate(positions):
            if not _is_left_out(node):
                mistake = MutationSpec(path, name, occurrence, start, end)
                found.setdefault(start, []).append(mistake)
    return found


def _is_left_out(node: NodeOrLeaf) -> bool:
    """Whether no test should notice a mistake here."""
    parent = node.parent
    if parent is None:
        return False
    is_type = (parent.type == "annassign" and node is parent.children[1]) or (
        parent.type == "funcdef" and node is parent.annotation
    )
    is_strict = node.type == "argument" and node.get_first_leaf().value == "strict"
    is_star = node.type == "operator" and parent.type == "parameters"  # `*, b` is no product
    return node.type in _LEFT_OUT or is_type or is_strict or is_star or _is_left_out(parent)


def sample(root: Path, folders: Sequence[str], count: int, seed: int) -> list[MutationSpec]:
    """Mistakes at places that are equally far apart in the folders' files, in random order."""
    files = [path for one in folders for path in sorted((root / PACKAGE / one).rglob("*.py"))]
    found = (mistakes(root, path.relative_to(root)) for path in files)
    places = [choices for of_file in found for _, choices in sorted(of_file.items())]
    draws = random.Random(seed)
    step, start = len(places) / count, draws.random()
    drawn = [draws.choice(places[int((start + number) * step)]) for number in range(count)]
    draws.shuffle(drawn)
    return drawn


def mirror(root: Path, path: Path) -> Path:
    """The folder of tests for a file: that of its own folder, or of the nearest one above."""
    folder = Path("tests", path.relative_to(PACKAGE).parent)
    return next(one for one in (folder, *folder.parents) if any((root / one).glob("test_*.py")))


def enclosing(root: Path, mistake: MutationSpec) -> Sequence[Function]:
    """The function in which a mistake is made; all of its file if it is made outside of them."""
    every = bodies(root, mistake)
    return [one for one in every if holds(one, mistake)][-1:] or every


def bodies(root: Path, mistake: MutationSpec) -> list[Function]:
    """The functions of a mistake's file that are longer than a line, the outer ones first."""
    tree = get_ast_from_path(root / mistake.module_path)
    return [one for one in functions(tree) if one.children[-1].type == "suite"]


def holds(function: Function, mistake: MutationSpec) -> bool:
    """Whether the mistake is made in the function's body."""
    return bool(function.children[-1].start_pos <= mistake.start_pos < function.end_pos)


def functions(tree: NodeOrLeaf) -> Iterator[Function]:
    """The functions of a file, the outer ones first."""
    if isinstance(tree, Function):
        yield tree
    for child in getattr(tree, "children", ()):
        yield from functions(child)


def asked(mistake: MutationSpec, known: Sequence[Reach]) -> list[str]:
    """The tests for a mistake, in the order in which they are asked.

    Those of its module come first, then those of the folder that mirrors its own, then the
    shortest. `DECLARED` is asked about each mistake, first if it is made outside of functions.
    """
    path = mistake.module_path
    near, own = f"{mirror(HOUSE, path)}/", f"/test_{path.stem}.py:"
    names = {first_line(path, one) for one in enclosing(HOUSE, mistake)}
    is_inside = any(holds(one, mistake) for one in bodies(HOUSE, mistake))
    declared = [one.test for one in known if one.test.startswith(DECLARED)]
    calling = [one for one in known if not names.isdisjoint(one.functions)]
    if not calling:  # a constant is not called
        calling = [one for one in known if one.test.startswith(near)]
    calling.sort(key=lambda one: (own not in one.test, not one.test.startswith(near), one.cpu_s))
    ends_s = list(accumulate(one.cpu_s for one in calling[:TESTS_MAX]))
    tests = [one.test for one in calling[: bisect_left(ends_s, TESTS_S_MAX) + 1]]
    return [*tests, *declared] if is_inside else [*declared, *tests]


def first_line(path: Path, function: Function) -> str:
    """Return the function as `Reach.functions` has it."""
    whole = function.parent if function.parent.type == "decorated" else function
    return f"{path.relative_to(PACKAGE)}:{whole.start_pos[0]}"


class Started:
    """A plugin of pytest: write each test to a file as it starts, and give it its CPU time."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Let the system end this process after the time."""
        self._file.write_text(nodeid, "utf-8")
        signal.setitimer(signal.ITIMER_PROF, TEST_S_MAX)


def noticed_by(path: Path, text: str, tests: Sequence[str]) -> str:
    """The first test that fails if a file has another text; "" if none does."""
    with tempfile.NamedTemporaryFile() as file:
        started = Path(file.name)
        started.write_text(tests[0], "utf-8")  # is blamed if none starts

        def work() -> int:
            change_text(path, text)
            with tempfile.TemporaryDirectory() as folder:
                for_started(Path(folder), path, text)
                return run_tests(tests, Started(started), "-x")

        return started.read_text("utf-8") if in_child(work) else ""


def change_text(path: Path, text: str) -> None:
    """Let this process import another text of a file."""
    get_code = SourceFileLoader.get_code

    def changed(loader: SourceFileLoader, name: str) -> CodeType | None:
        is_it = loader.path == str(path)
        return compile(text, path, "exec", dont_inherit=True) if is_it else get_code(loader, name)

    SourceFileLoader.get_code = changed  # type: ignore[assignment, method-assign]


def for_started(folder: Path, path: Path, text: str) -> None:
    """Let each Python that this process starts import another text of a file, for limited time.

    Python imports `sitecustomize` before all else, from the first folder that has one.
    """
    lines = (
        "import resource",
        "from importlib.machinery import SourceFileLoader",
        "from pathlib import Path",
        "from types import CodeType",
        inspect.getsource(change_text),
        f"change_text(Path({str(path)!r}), {text!r})",
        f"resource.setrlimit(resource.RLIMIT_CPU, ({TEST_S_MAX}, {TEST_S_MAX}))",
    )
    (folder / "sitecustomize.py").write_text("\n".join(lines), "utf-8")
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        one for one in (str(folder), os.environ.get("PYTHONPATH")) if one
    )


def change(before: str, after: str) -> tuple[str, str]:
    """Return the code that a mistake changes, without the lines around it: (before, after)."""
    lines = [*difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")][2:]
    gone, new = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
    )
    return gone, new


def judged(mistake: MutationSpec, tests: Sequence[str]) -> Verdict:
    """Make a mistake in a process of its own, and show what became of it."""
    where = mistake.module_path
    text = (HOUSE / where).read_text("utf-8")
    changed = mutate_code(text, get_operator(mistake.operator_name)(), mistake.occurrence)
    by = noticed_by(HOUSE / where, changed, tests) if tests else ""
    before, after = change(text, changed)
    why = "" if tests else "  (no test calls it)"
    verdict = "noticed " if by else "survived"
    print(f"{verdict}  {where}:{mistake.start_pos[0]}  {before}  ->  {after}{why}", flush=True)
    return Verdict((str(where.relative_to(PACKAGE)), before, after), by)


def check(tests: Sequence[str]) -> None:
    """Run tests that noticed mistakes without one: one that fails then has noticed nothing."""
    if by := noticed_by(HOUSE, "", tests):
        raise RuntimeError(f"{by} fails without a mistake, too: see build/mutants.log")


def known() -> dict[tuple[str, str, str], str]:
    """Why a mistake is not noticed, by (file, before, after)."""
    text = (HOUSE / "tests" / "mutants.toml").read_text("utf-8")
    return {tuple(change): reason for *change, reason in tomllib.loads(text)["survivors"]}


def main() -> int:
    """Judge a sample and list the survivors; 1 if too few mistakes were noticed."""
    parser = argparse.ArgumentParser(prog="tests.mutants", description="Count unnoticed mistakes.")
    parser.add_argument("--count", type=int, default=200, help="mistakes to make")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other mistakes")
    parser.add_argument("--processes", type=int, default=2, help="runs of tests at a time")
    parser.add_argument("folders", nargs="*", default=FLOORS, help="folders of src/sluice")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
    drawn = sample(HOUSE, given.folders, given.count, given.seed)
    known_tests = reached(given.processes)
    tests = [asked(mistake, known_tests) for mistake in drawn]
    with ThreadPoolExecutor(given.processes) as pool:
        verdicts = list(pool.map(judged, drawn, tests))
        noticing = sorted({one.noticed_by for one in verdicts} - {""})
        shares = (noticing[first :: given.processes] for first in range(given.processes))
        list(pool.map(check, filter(None, shares)))
    survivors = [one.change for one in verdicts if not one.noticed_by]
    new = sorted(one for one in survivors if one not in known())
    for one in new:
        print(json.dumps([*one, "reason"], ensure_ascii=False) + ",")
    counted = len(drawn) - len(survivors) + len(new)  # known survivors are left out
    share = 1 - len(new) / counted
    print(f"{counted - len(new)} of {counted} noticed: {share:.1%}, aim {NOTICED_MIN:.0%}")
    return int(share < NOTICED_MIN)


if __name__ == "__main__":
    sys.exit(main())
