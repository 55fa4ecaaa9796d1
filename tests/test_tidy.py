"""The house rules that no linter knows, and that a reader would otherwise enforce by hand."""

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from tests.skips import skip

HOUSE = Path(__file__).resolve().parent.parent
SOURCE = HOUSE / "src" / "sluice"

FILE_LINES_MAX = 400
LINES_WITHOUT_THEORY = 250
FUNCTION_LINES_MAX = 60  # its docstring and its parameters not counted
NAMELESS = {"common", "helper", "helpers", "manager", "managers", "util", "utils"}

MACHINE_PATH = re.compile(r"(?<!\w)/(work|farm|root)/")
BLANK_AT_END = re.compile(r"[^\S\n]$", re.MULTILINE)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
SILENCED = re.compile(r"# (noqa|type: ignore)")
SILENCED_WITH_REASON = re.compile(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[\w, -]+\]) +# \w")
PACKAGE_INDEX = re.compile(r"^\s*(-i|-f|--(extra-)?index-url|--find-links)\b|https?://")
FRAGMENT = re.compile(r"[a-z0-9-]+\.(added|changed|fixed)\.md")


def project_files() -> list[Path]:
    """All that git holds or would hold; in an unpacked archive, all but hidden and built files."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(listing, cwd=HOUSE, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        walked = (path.relative_to(HOUSE) for path in HOUSE.rglob("*"))
        paths = [HOUSE / path for path in walked if not path.parts[0].startswith((".", "build"))]
    else:
        paths = [HOUSE / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


@cache
def our_texts() -> dict[str, str]:
    """By path, every text that we wrote ourselves: no binary file, no recorded data, no lock."""
    data = HOUSE / "tests" / "data"
    written = [
        path for path in project_files() if not path.is_relative_to(data) and path.suffix != ".lock"
    ]
    contents = {str(path.relative_to(HOUSE)): path.read_bytes() for path in written}
    return {name: text.decode() for name, text in contents.items() if b"\0" not in text}


def source_texts() -> dict[str, str]:
    """By path, every module of the package."""
    return {str(path.relative_to(HOUSE)): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}


def lines_with(pattern: re.Pattern[str], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each line with a pattern, and the place to go to: `src/sluice/core/state.py:12`."""
    for name, text in texts.items():
        if pattern.search(text):  # few have any
            for number, line in enumerate(text.split("\n"), start=1):
                if pattern.search(line):
                    yield f"{name}:{number}", line


@cache
def source_trees() -> list[tuple[Path, ast.Module]]:
    """Every module of the package, parsed."""
    return [
        (path.relative_to(HOUSE), ast.parse(path.read_text("utf-8")))
        for path in SOURCE.rglob("*.py")
    ]


@cache
def source_nodes() -> list[tuple[Path, ast.AST]]:
    """Every statement of the package, and what catches its errors."""
    kinds = (ast.stmt, ast.ExceptHandler)
    return [
        (path, node)
        for path, tree in source_trees()
        for node in ast.walk(tree)
        if isinstance(node, kinds)
    ]


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines its statements take. The flags of a verb are a list, not a thought."""
    first = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or function.lineno) - first[0].lineno + 1 if first else 0


def test_there_is_something_to_look_at():
    """A walk that finds nothing would let every other test here pass."""
    assert len(source_trees()) > 10
    assert len(project_files()) > 20


def test_no_file_names_a_folder_of_the_machine_it_was_written_on():
    assert [] == [place for place, _ in lines_with(MACHINE_PATH, our_texts())]


def test_no_line_ends_in_blanks():
    assert [] == [place for place, _ in lines_with(BLANK_AT_END, our_texts())]


def test_nothing_in_the_package_is_left_unfinished():
    assert [] == [place for place, _ in lines_with(UNFINISHED, source_texts())]


def test_a_silenced_rule_has_its_reason_beside_it():
    """Written `# noqa: S608  # the names come from our own schema`."""
    silenced = [*lines_with(SILENCED, source_texts())]

    assert [] == [place for place, line in silenced if not SILENCED_WITH_REASON.search(line)]


def test_every_module_is_named_for_what_it_holds():
    modules = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")]

    assert [] == [path for path in modules if NAMELESS & {*path.parts, path.stem}]


def test_no_file_outgrows_its_idea():
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py")}

    assert {} == {str(path): lines for path, lines in sizes.items() if lines > FILE_LINES_MAX}


def test_each_folder_of_the_scheduler_is_seen_at_a_glance():
    """The core and its policies are what a newcomer reads first: at most 20 modules a folder."""
    folders = [SOURCE / "core", SOURCE / "policies"]
    folders += [folder for top in folders for folder in top.iterdir() if folder.is_dir()]
    modules = {str(folder): len(list(folder.glob("*.py"))) for folder in folders}
    assert not {folder: count for folder, count in modules.items() if count > 20}


def test_no_function_outgrows_the_screen():
    functions = [
        (f"{path}:{node.lineno} {node.name}", code_lines(node))
        for path, node in source_nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert [] == [(where, lines) for where, lines in functions if lines > FUNCTION_LINES_MAX]


def test_every_module_says_what_it_is():
    assert [] == [str(path) for path, tree in source_trees() if not ast.get_docstring(tree)]


def test_a_long_module_opens_with_its_theory_of_operation():
    """It says how the parts work together, which the heads of single functions do not say."""
    openings = {
        str(path): (ast.get_docstring(tree) or "").partition("\n\n")[2]
        for path, tree in source_trees()
        if len(path.read_text("utf-8").splitlines()) > LINES_WITHOUT_THEORY
    }

    assert len(openings) > 100
    assert [] == [path for path, theory in openings.items() if not theory]


def test_no_except_catches_everything():
    """A bare `except:` also swallows the Ctrl-C of the person at the terminal."""
    handlers = [
        (f"{path}:{node.lineno}", node.type)
        for path, node in source_nodes()
        if isinstance(node, ast.ExceptHandler)
    ]

    assert [] == [place for place, caught in handlers if caught is None]


def test_the_locks_name_packages_and_hashes_only():
    """Where packages come from is the business of the user who installs them."""
    locks = sorted((HOUSE / "requirements").glob("*.lock"))
    lines = [numbered for path in locks for numbered in enumerate(path.read_text().splitlines(), 1)]

    names = ["bench.lock", "demo.lock", "dev.lock", "uv.lock", "wheels.lock"]
    assert names == [path.name for path in locks]
    assert [] == [line for line in lines if PACKAGE_INDEX.search(line[1])]


def test_news_fragments_have_a_topic_and_a_kind():
    names = {path.name for path in (HOUSE / "changes").iterdir()} - {"README.md"}

    assert set() == {name for name in names if not FRAGMENT.fullmatch(name)}


def test_tests_of_planners_are_in_the_folder_of_their_planner():
    """`tests/planning` mirrors `src/sluice/planning`: modules that tests share are at its top."""
    tests = HOUSE / "tests" / "planning"
    folders = {path.name for path in tests.iterdir() if list(path.glob("test_*.py"))}
    planners = {path.parent.name for path in (SOURCE / "planning").glob("*/__init__.py")}

    assert [] == sorted(tests.glob("test_*.py"))
    assert folders
    assert [] == sorted(folders ^ planners)


def test_the_reading_guide_names_files_that_exist():
    named = re.findall(r"`([\w/]+\.py)`", (HOUSE / "docs" / "reading-guide.md").read_text("utf-8"))

    assert len(named) > 20
    assert [] == [name for name in named if not (SOURCE / name).is_file()]


def modules() -> dict[str, ast.Module]:
    """Every module of the package, parsed, by its full name."""
    found = {}
    for path, tree in source_trees():
        parts = path.with_suffix("").parts[1:]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = tree
    return found


def imported(tree: ast.Module, names: Collection[str]) -> set[str]:
    """The modules of the package that a module imports: at the top, in functions, for types."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found.add(submodule if submodule in names else node.module)
    return found & set(names)


@cache
def imports_of_modules() -> dict[str, set[str]]:
    """The modules that each module of the package imports."""
    trees = modules()
    return {name: imported(tree, trees) for name, tree in trees.items()}


def on_circles(imports: Mapping[str, Collection[str]]) -> list[str]:
    """Modules that import each other, directly or through others.

    Removes modules that import nothing that is left, and those that nothing left imports, until
    there are no more: what remains is on a circle, or on a way between two.
    """
    left = {name: set(of) - {name} for name, of in imports.items()}
    ends = set(left)
    while ends:
        used = {name for of in left.values() for name in of}
        ends = {name for name, of in left.items() if not of & left.keys() or name not in used}
        for name in ends:
            del left[name]
    return sorted(left)


def test_a_circle_of_imports_is_found():
    """Otherwise the next test could pass because it finds nothing at all."""
    imports = {"top": {"a"}, "a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}

    assert ["a", "b", "c"] == on_circles(imports)
    assert [] == on_circles({**imports, "c": {"d"}})
    tree = ast.parse("def f():\n    from sluice.core import state")
    assert {"sluice.core.state"} == imported(tree, {"sluice.core", "sluice.core.state"})


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions count too: they only hide a circle."""
    assert [] == on_circles(imports_of_modules())


# Modules that import one another in a row, and so that a reader may have to follow.
IMPORTS_DEEP_MAX = 24


def longest_chain(imports: Mapping[str, Collection[str]]) -> list[str]:
    """The longest chain of modules of which each imports the next one. There is no circle."""
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(imports).static_order():
        below = (chains[one] for one in imports[name])
        chains[name] = [name, *max(below, key=len, default=[])]
    return max(chains.values(), key=len)


def test_the_longest_chain_of_imports_grows_no_longer():
    """Make the number smaller where a change allows it."""
    imports = {name: of - {name} for name, of in imports_of_modules().items()}

    assert ["a", "b", "d"] == longest_chain({"a": {"b", "c"}, "b": {"d"}, "c": set(), "d": set()})
    chain = longest_chain(imports)
    assert len(chain) <= IMPORTS_DEEP_MAX, chain


# What may be said to the compiler, and the test that shows it to be safe. `acyclic=True` once made
# compiled graphs of fifty stages write over the memory before an object.
SAFE_ATTRIBUTES = {"allow_interpreted_subclasses": "tests/bootstrap/test_scheduler.py"}


def test_attributes_for_the_compiler_are_those_that_a_test_shows_to_be_safe():
    decorators = [
        (f"{path}:{node.lineno}", {word.arg for word in decorator.keywords}, decorator.args)
        for path, node in source_nodes()
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and "mypyc_attr" in ast.unparse(decorator.func)
    ]

    assert decorators
    assert [] == [one for one in decorators if one[2] or one[1] - SAFE_ATTRIBUTES.keys()]
    assert all((HOUSE / test).is_file() for test in SAFE_ATTRIBUTES.values())


def test_no_value_is_made_behind_the_back_of_its_class():
    """`tuple.__new__(Launch, ...)` checks nothing."""
    assert [] == [place for place, _ in lines_with(re.compile(r"tuple\.__new__"), source_texts())]


def test_tests_of_the_sources_alone_are_where_the_sources_are_tested():
    """A test that is left out for what is compiled must run in the other run of `make test`."""
    folders = re.search(r"^DECIDES := (.*)$", (HOUSE / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert folders
    marked = [
        path.relative_to(HOUSE)
        for path in (HOUSE / "tests").rglob("test_*.py")
        if "pytest.mark.interpreted" in path.read_text("utf-8") and path != Path(__file__)
    ]

    assert len(marked) > 10
    assert [] == [
        path for path in marked if not any(path.is_relative_to(one) for one in folders[1].split())
    ]


@pytest.mark.parametrize(
    ("sources", "installed", "is_named"), [(0, 1, True), (1, 0, True), (0, 3, False), (3, 1, False)]
)
def test_a_run_that_broke_off_names_no_test_to_run_again(tmp_path, sources, installed, is_named):
    """`.ci/run` forgives a test that fails once, never a crash of the run itself."""
    shutil.copy(HOUSE / "Makefile", tmp_path)
    done = ["-o", ".venv/.dev", "-o", ".venv/.sluice"]  # not to be made
    cache = ".pytest_cache/v/cache"
    fails = f"mkdir -p {cache}; touch {cache}/lastfailed; exit"
    ways = [f"PYTEST_SOURCE=sh -c '{fails} {sources}' x", f"PYTEST=sh -c '{fails} {installed}' x"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    child = subprocess.run(
        ["make", *done, "test", *ways], cwd=tmp_path, env=env, capture_output=True, check=False
    )

    assert child.returncode != 0
    assert is_named == (tmp_path / cache / "lastfailed").exists()


def test_what_fails_in_any_run_is_named_at_the_end():
    """Each run keeps what failed in a folder of its own: they go at once."""
    kept = re.findall(r"cache_dir=\.pytest_cache/(\w+)", (HOUSE / "Makefile").read_text("utf-8"))
    (read,) = re.findall(r"\.pytest_cache/\{(.*?)\}/v", (HOUSE / ".ci" / "run").read_text("utf-8"))

    assert {".", "sources", "yarn"} == {".", *kept} == {*read.split(",")}


def test_the_tests_of_hadoop_run_next_to_the_others(tmp_path):
    """They wait for five minutes of it, as those of the sources wait for time that is left."""
    shutil.copy(HOUSE / "Makefile", tmp_path)
    done = ["-o", ".venv/.dev", "-o", ".venv/.sluice"]  # not to be made
    names = ("PYTEST", "PYTEST_SOURCE", "PYTEST_YARN")
    # Each ends well only once all have begun.
    every = " ".join(f"-a -e {name}" for name in names).removeprefix("-a ")
    ways = [
        f"{name}=timeout 20 sh -c 'touch {name}; until [ {every} ]; do sleep 0.1; done' x"
        for name in names
    ]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    subprocess.run(["make", *done, "test", *ways], cwd=tmp_path, env=env, check=True)


def checked_commits(folder, *arguments):
    """The exit code of `.ci/check-commits` in a folder, and what it complains about."""
    check = HOUSE / ".ci" / "check-commits"
    done = subprocess.run(
        [check, *arguments], cwd=folder, capture_output=True, check=False, text=True
    )
    return done.returncode, done.stderr


@pytest.fixture
def commit(tmp_path):
    """Make a commit in a repository of its own, whose main line has one with a long subject."""
    if shutil.which("git") is None:
        skip("git is not installed")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words):
        person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        command = ["git", *person, *words]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)

    def made(message):
        git("commit", "--allow-empty", "--message", message)

    git("init", "--initial-branch", "main")
    made("m" * 73)
    git("switch", "--create", "work")
    return made


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("s" * 71 + "\n\nBecause.", ""),
        ("ü" * 71 + "\n\nBecause.", ""),
        ("s" * 72 + "\n\nBecause.", "72 letters"),
        ("Subject", "no body"),
        ("Subject\n\nCo-authored-by: B <b@example.org>", "no body"),
    ],
)
def test_a_commit_has_a_short_subject_and_a_body(tmp_path, commit, message, complaint):
    commit(message)
    commit("Another one\n\nIts reason.")
    status, complaints = checked_commits(tmp_path)

    assert status == bool(complaint)
    assert complaint in complaints
    assert "mmm" not in complaints  # the main line is not part of the change


def test_on_the_main_line_its_newest_commit_is_checked(tmp_path, commit):
    commit("A good one\n\nIts reason.")

    assert checked_commits(tmp_path, "work") == (0, "")
    commit("A bad one")
    assert "no body" in checked_commits(tmp_path, "work")[1]


def test_without_history_no_commit_is_checked(tmp_path):
    assert checked_commits(tmp_path) == (0, "")
