"""How many small mistakes in the sources the tests notice: `make mutants`.

Cosmic Ray makes the mistakes, one at a time: `<` becomes `<=`, a 1 becomes a 2, a loop never runs.
First the quick tests of the seven floors run once without a mistake, and each notes which of the
functions it calls in which a mistake will be made (`tests/reach.py`). Then the tests that call the
function run on each mistake, the nearest and shortest first, until one fails or a minute of them
has passed; what they let pass, for two minutes more with four times as many examples. At the end
the tests that failed run alone without a mistake, and must pass.
All of it happens in temporary copies of this checkout, on the sources.

The sample is spread evenly over the places where a mistake is possible, so each folder and file has
its share. The same seed gives the same sample, and Hypothesis draws the same examples.

Left out is what no test should notice: types, decorators, the star before arguments that have
names, the numbers inside a message, and what cannot happen: assertions, and `strict=True`. Known
survivors have a line in `mutants.toml`.
"""

import argparse
import compileall
import json
import random
import re
import resource
import shlex
import shutil
import sys
import tempfile
import threading
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from attrs import evolve
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkResult
from parso.python.tree import Function
from parso.tree import NodeOrLeaf

HOUSE = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "sluice")
FLOORS = ("model", "estimate", "core", "policies", "planning", "simulation", "store")

# They read what is declared outside of functions: ranges and defaults of settings.
DECLARED = (
    "tests/test_setting_ranges.py",
    "tests/test_documents.py::test_python_examples_give_what_they_show[docs/workload-file.md]",
)
TESTS = (
    *(f"tests/{floor}" for floor in FLOORS),
    "tests/examples",
    "tests/test_docstrings.py",
    *DECLARED,
)

NOTICED_MIN = 0.85
FIRST_S, TESTS_S_MAX = 5.0, 60.0  # of tests for each mistake, as long as they took without it
TEST_S_MAX, RUN_S_MAX = 60, 600  # a mistake may make a loop endless
AGAIN_S_MAX = 120  # with more examples; then it counts as not noticed
CHECK_S_MAX = 3600  # without a mistake
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
_FEW_EXAMPLES = "SLUICE_TEST_FAST=1"
_TIMED_OUT = "timeout"  # the output of Cosmic Ray then
_LEFT_OUT = {"assert_stmt", "decorator", "fstring", "tfpdef"}  # the last: a parameter with its type

# A case with spaces in its name counts as all of that test.
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[\S*\](?= - |$))?)", re.MULTILINE)


class Verdict(NamedTuple):
    """The outcome of a mistake.

    change: (file, before, after).  noticed_by: the tests that failed; none if it survived.
    """

    change: tuple[str, str, str]
    noticed_by: tuple[str, ...]


class Reach(NamedTuple):
    """A test without a mistake: the seconds it took, and the mistakes whose function it calls."""

    test: str
    took_s: float
    mistakes: frozenset[int]


_thread = threading.local()  # .copy: the thread's own


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


def probe(root: Path, drawn: Sequence[MutationSpec]) -> None:
    """Let the functions in which mistakes are drawn note that they are called, in a copy."""
    (root / PACKAGE / "_reached.py").write_text("FOUND: set[int] = set()\n", "utf-8")
    by_line: dict[Path, dict[int, set[int]]] = {}
    for number, mistake in enumerate(drawn):
        for function in enclosing(root, mistake):
            body = [one for one in function.children[-1].children if one.type != "newline"]
            is_documented = body[0].get_first_leaf().type == "string" and len(body) > 1
            first = body[1 if is_documented else 0].get_first_leaf()
            of_file = by_line.setdefault(mistake.module_path, {})
            of_file.setdefault(first.start_pos[0], set()).add(number)
    for path, probes in by_line.items():
        lines = (root / path).read_text("utf-8").splitlines(keepends=True)
        for line, numbers in sorted(probes.items(), reverse=True):
            indent = re.match(r"\s*", lines[line - 1])[0]
            note = f'__import__("sluice._reached")._reached.FOUND.update({sorted(numbers)})'
            lines.insert(line - 1, f"{indent}{note}\n")
        (root / path).write_text("".join(lines), "utf-8")


def reached(root: Path, drawn: Sequence[MutationSpec], processes: int) -> list[Reach]:
    """Run the quick tests in a copy without a mistake; raise RuntimeError if one fails."""
    probe(root, drawn)
    found = root / "reached.jsonl"
    options = [f"-n{processes}", "-p", "tests.reach", f"--reach={found}"]
    words = command(root, TESTS, *options, f"--timeout={CHECK_S_MAX}")  # the last one counts
    outcome, output = run_tests(f"env {_FEW_EXAMPLES} {words}", CHECK_S_MAX)
    if outcome is not TestOutcome.SURVIVED:
        raise RuntimeError(f"A test fails without a mistake.\n{output}")
    return [
        Reach(test, took_s, frozenset(mistakes))
        for test, took_s, mistakes in map(json.loads, found.read_text("utf-8").splitlines())
    ]


def asked(
    root: Path, number: int, mistake: MutationSpec, known: Sequence[Reach]
) -> list[list[str]]:
    """The tests for a mistake, in the order in which they are asked: a few, then the others.

    Those of the folder that mirrors its own come first, then the shortest; no more than
    `TESTS_S_MAX` of them. Outside of functions may be a declaration, which `DECLARED` reads.
    """
    near = f"{mirror(root, mistake.module_path)}/"
    is_inside = any(holds(one, mistake) for one in bodies(root, mistake))
    declared = [] if is_inside else [one for one in known if one.test.startswith(DECLARED)]
    found = [one for one in known if number in one.mistakes and one not in declared]
    calling = [
        *declared,
        *sorted(
            found
            or [one for one in known if one.test.startswith(near)],  # a constant is not called
            key=lambda one: (not one.test.startswith(near), one.took_s, one.test),
        ),
    ]
    ends_s = list(accumulate(one.took_s for one in calling))
    first, last = bisect_left(ends_s, FIRST_S) + 1, bisect_left(ends_s, TESTS_S_MAX) + 1
    tests = [one.test for one in calling]
    return [part for part in (tests[:first], tests[first:last]) if part]


def command(root: Path, tests: Sequence[str], *options: str) -> str:
    """Run quick tests on the sources of a copy, up to the first that fails."""
    where = ["env", "-C", str(root), f"PYTHONPATH={root / 'src'}"]
    run = [sys.executable, "-m", "pytest", "-qx", "--hypothesis-seed=0", "-m", "not slow"]
    given = root / "tests.txt"
    given.write_text("\n".join(tests), "utf-8")  # they may be more than a command line holds
    return shlex.join([*where, *run, f"--timeout={TEST_S_MAX}", *(options or ["-n0"]), f"@{given}"])


def blamed(output: str, tests: Sequence[str]) -> tuple[str, ...]:
    """The tests that failed; all that ran if the output names none."""
    return tuple(_FAILED.findall(output)) or tuple(tests)


def judge(
    root: Path, mistake: MutationSpec, asked: Sequence[Sequence[str]]
) -> tuple[WorkResult, tuple[str, ...]]:
    """Make a mistake in a copy, run tests, and undo it; return also which noticed it."""
    made = evolve(mistake, module_path=root / mistake.module_path)
    result = mutate_and_test([made], "true", RUN_S_MAX)  # what it changes, if no test is asked
    every = [test for tests in asked for test in tests]
    runs = [(tests, f"env {_FEW_EXAMPLES} ", RUN_S_MAX) for tests in asked]
    for tests, env, most_s in [*runs, (every, "", AGAIN_S_MAX)] if every else []:
        result = mutate_and_test([made], env + command(root, tests), most_s)
        if not env and result.output == _TIMED_OUT:
            return evolve(result, test_outcome=TestOutcome.SURVIVED), ()
        if result.worker_outcome is not WorkerOutcome.NORMAL:
            raise RuntimeError(f"{mistake}: {result.worker_outcome.value}\n{result.output}")
        if result.is_killed:
            return result, blamed(result.output or "", tests)
    return result, ()


def check(tests: Sequence[str]) -> None:
    """Run tests that noticed mistakes without one: one that fails then has noticed nothing."""
    outcome, output = run_tests(command(_thread.copy, tests), CHECK_S_MAX)
    if outcome is not TestOutcome.SURVIVED:
        raise RuntimeError(f"A test fails without a mistake, too.\n{output}")


def change(result: WorkResult) -> tuple[str, str]:
    """Return the code that a mistake changes, without the lines around it: (before, after)."""
    lines = (result.diff or "").splitlines()[3:]
    before, after = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
    )
    return before, after


def judged(mistake: MutationSpec, tests: Sequence[Sequence[str]]) -> Verdict:
    """Show what became of a mistake."""
    result, noticed_by = judge(_thread.copy, mistake, tests)
    verdict, where = "noticed " if noticed_by else "survived", mistake.module_path
    before, after = change(result)
    why = "" if tests else "  (no test calls it)"
    print(f"{verdict}  {where}:{mistake.start_pos[0]}  {before}  ->  {after}{why}", flush=True)
    return Verdict((str(where.relative_to(PACKAGE)), before, after), noticed_by)


def known() -> dict[tuple[str, str, str], str]:
    """Why a mistake is not noticed, by (file, before, after)."""
    text = (HOUSE / "tests" / "mutants.toml").read_text("utf-8")
    return {tuple(change): reason for *change, reason in tomllib.loads(text)["survivors"]}


def make_copy(folder: str) -> Path:
    """Copy this checkout, without what was made in it."""
    made = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "out")
    copy = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(HOUSE, copy, ignore=made, dirs_exist_ok=True)
    compileall.compile_dir(copy / "src", quiet=1)  # once, and not again in each run
    return copy


def take_copy(folder: str) -> None:
    """Give a thread a copy of its own."""
    _thread.copy = make_copy(folder)


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
    with tempfile.TemporaryDirectory() as folder:
        known_tests = reached(make_copy(folder), drawn, given.processes)
        tests = [asked(HOUSE, number, mistake, known_tests) for number, mistake in enumerate(drawn)]
        with ThreadPoolExecutor(given.processes, initializer=take_copy, initargs=(folder,)) as pool:
            verdicts = list(pool.map(judged, drawn, tests))
            noticing = sorted({test for one in verdicts for test in one.noticed_by})
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
