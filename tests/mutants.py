"""How many small mistakes in the sources the tests notice: `make mutants`.

Cosmic Ray makes the mistakes, one at a time: `<` becomes `<=`, a 1 becomes a 2, a loop never runs.
A mistake is noticed if an example in its file's docstrings fails, or a test of the folder that
mirrors its file's folder; the tests that import the file run first, and slow ones last. What they
let pass is tried on the quick tests of the floors that show it, and on the example workloads.
At the end the tests that failed run once more without a mistake, and must pass.
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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from attrs import evolve
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkResult
from parso.tree import NodeOrLeaf

HOUSE = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "sluice")
FLOORS = ("model", "estimate", "core", "policies", "planning", "simulation", "store")

_DECIDE = ("policies", "simulation")
BEHIND = {"core": _DECIDE, "policies": _DECIDE}  # whose tests show a mistake of that floor, too

NOTICED_MIN = 0.85
_QUICK, _SLOW, _EACH = "not slow", "slow", "slow or not slow"  # marks of pytest
_PACKAGE_DEPTH = 3  # as `sluice.policies.yarn`; most tests of a floor import something of it
TEST_S_MAX, FOLDER_S_MAX = 60, 600  # a mistake may make a loop endless
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
_LEFT_OUT = {"assert_stmt", "decorator", "fstring", "tfpdef"}  # the last: a parameter with its type

# A case with spaces in its name counts as all of that test.
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[\S*\](?= - |$))?)", re.MULTILINE)


class Verdict(NamedTuple):
    """What became of a mistake.

    change: (file, before, after).  noticed_by: the tests that failed, with the marks that choose
    them; none if it survived.
    """

    change: tuple[str, str, str]
    marks: str
    noticed_by: tuple[str, ...]


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


def dotted(path: Path) -> str:
    """The name of a file's module."""
    return ".".join(["sluice", *path.relative_to(PACKAGE).with_suffix("").parts])


def examples(root: Path, path: Path) -> list[str]:
    """The test of a file's docstrings, if there are examples in them."""
    if ">>>" not in (root / path).read_text("utf-8"):
        return []
    return [f"tests/test_docstrings.py::test_examples_print_what_they_show[{dotted(path)}]"]


def stages(root: Path, path: Path) -> list[tuple[str, list[Path | str]]]:
    """The tests that may notice a mistake in a file, cheapest first: (marks, tests).

    First the quick ones of the files that name what it offers: its own file, those that import it
    or a neighbour, then those that name it most often. Slow ones of other folders are not asked.
    """
    folder, parts = mirror(root, path), dotted(path).split(".")
    text = (root / path).read_text("utf-8")
    public = re.findall(r"^(?:def|class) ([A-Za-z]\w+)", text, re.MULTILINE)
    names = re.compile(rf"\b(?:{'|'.join(public)})\b" if public else r"\b\B")
    packages = [".".join(parts[:depth]) for depth in range(_PACKAGE_DEPTH, len(parts) + 1)]
    texts = {
        one.relative_to(root): one.read_text("utf-8")
        for one in sorted((root / folder).rglob("test_*.py"))
    }
    own = [one for one in texts if one.name.startswith(f"test_{path.stem}")]
    named = {
        one: (sum(package in text for package in packages), len(names.findall(text)))
        for one, text in texts.items()
        if one not in own
    }
    named = {one: rank for one, rank in named.items() if any(rank)}
    near = [*own, *sorted(named, key=lambda one: named[one], reverse=True)]
    found: list[tuple[str, list[Path | str]]] = [
        (_QUICK, [*examples(root, path), *near]),
        (_QUICK, [one for one in texts if one not in near]),
        (_SLOW, [one for one, text in texts.items() if "mark.slow" in text]),
        (_QUICK, [*behind(root, folder)]),
    ]
    return [(marks, tests) for marks, tests in found if tests]


def behind(root: Path, folder: Path) -> list[Path]:
    """The folders of tests that also show a mistake in what a folder of tests is for."""
    found = [Path("tests", one) for one in (*BEHIND.get(folder.parts[1], ()), "examples")]
    return [one for one in found if one != folder and (root / one).is_dir()]


def command(root: Path, marks: str, tests: Sequence[Path | str]) -> str:
    """Run tests on the sources of a copy, up to the first that fails. None is no failure."""
    where = ["env", "-C", str(root), f"PYTHONPATH={root / 'src'}", sys.executable, "-m", "pytest"]
    options = ["-qx", "-n0", "--hypothesis-seed=0", f"--timeout={TEST_S_MAX}", "-m", marks]
    words = shlex.join([*where, *options, *map(str, tests)])
    return shlex.join(["sh", "-c", f"{words} || test $? -eq {pytest.ExitCode.NO_TESTS_COLLECTED}"])


def blamed(output: str, marks: str, tests: Sequence[Path | str]) -> tuple[str, tuple[str, ...]]:
    """The tests that failed, as (marks, tests); all that ran if the output names none."""
    failed = _FAILED.findall(output)
    return (_EACH, tuple(failed)) if failed else (marks, tuple(map(str, tests)))


def judge(root: Path, mistake: MutationSpec) -> tuple[WorkResult, tuple[str, tuple[str, ...]]]:
    """Make a mistake in a copy, run its tests, and undo it; return also which tests noticed it."""
    made = evolve(mistake, module_path=root / mistake.module_path)
    result = WorkResult(worker_outcome=WorkerOutcome.NO_TEST)
    for marks, tests in stages(root, mistake.module_path):
        result = mutate_and_test([made], command(root, marks, tests), FOLDER_S_MAX)
        if result.worker_outcome is not WorkerOutcome.NORMAL:
            raise RuntimeError(f"{mistake}: {result.worker_outcome.value}\n{result.output}")
        if result.is_killed:
            return result, blamed(result.output or "", marks, tests)
    return result, ("", ())


def check(given: tuple[str, Sequence[str]]) -> None:
    """Run the tests that noticed mistakes without one: one that fails then has noticed nothing."""
    outcome, output = run_tests(command(_thread.copy, *given), CHECK_S_MAX)
    if outcome is not TestOutcome.SURVIVED:
        raise RuntimeError(f"A test fails without a mistake, too.\n{output}")


def change(result: WorkResult) -> tuple[str, str]:
    """What a mistake changes, without the lines around it: (before, after)."""
    lines = (result.diff or "").splitlines()[3:]
    before, after = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
    )
    return before, after


def judged(mistake: MutationSpec) -> Verdict:
    """Show what became of a mistake."""
    result, noticed_by = judge(_thread.copy, mistake)
    verdict, where = "noticed " if result.is_killed else "survived", mistake.module_path
    before, after = change(result)
    print(f"{verdict}  {where}:{mistake.start_pos[0]}  {before}  ->  {after}", flush=True)
    return Verdict((str(where.relative_to(PACKAGE)), before, after), *noticed_by)


def known() -> dict[tuple[str, str, str], str]:
    """Why a mistake is not noticed, by (file, before, after)."""
    text = (HOUSE / "tests" / "mutants.toml").read_text("utf-8")
    return {tuple(change): reason for *change, reason in tomllib.loads(text)["survivors"]}


def without_mistakes(verdicts: Sequence[Verdict], runs: int) -> list[tuple[str, list[str]]]:
    """The tests that noticed mistakes, each once, for so many runs of each marks."""
    by_marks: dict[str, set[str]] = {}
    for one in verdicts:
        by_marks.setdefault(one.marks, set()).update(one.noticed_by)
    shares = [
        (marks, sorted(tests)[n::runs]) for marks, tests in by_marks.items() for n in range(runs)
    ]
    return [(marks, share) for marks, share in shares if share]


def make_copy(folder: str) -> None:
    """Copy this checkout for a thread, without what was made in it."""
    made = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "out")
    _thread.copy = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(HOUSE, _thread.copy, ignore=made, dirs_exist_ok=True)
    compileall.compile_dir(_thread.copy / "src", quiet=1)  # once, and not again in each run


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
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(given.processes, initializer=make_copy, initargs=(folder,)) as pool,
    ):
        verdicts = list(pool.map(judged, drawn))
        list(pool.map(check, without_mistakes(verdicts, given.processes)))
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
