"""Jobs whose phases form a graph, with commands and with Python functions."""

import json
import shlex
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.engines.work_runs import attempt, place_in, run_job, run_tasks

from sluice.engines.mapreduce import WorkFailed
from sluice.engines.mapreduce.layout import PreparedJob, laid_out, prepare
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase, RunSpec, StageRun
from sluice.model.slot_kind import SlotKind

CODE = """\
def read(line):
    key, _, value = line.partition(":")
    yield key, value


def tag(line):
    key, _, value = line.partition("\\t")
    yield key, "<" + value + ">"


def gather(key, values):
    yield key, "(" + " ".join(sorted(values)) + ")"


def both(key, some, other):
    yield key, " ".join(sorted(some)) + "|" + " ".join(sorted(other))
"""
GATHER = "sh gather.sh"
GATHER_SH = r"""exec awk -F '\t' -v OFS='\t' '
$1"" != key || NR == 1 { if (NR > 1) show(); key = $1""; n = 0 }
{ values[++n] = $2 }
END { if (NR) show() }
function show(  line, i) {
    asort_values(); line = values[1]
    for (i = 2; i <= n; i++) line = line " " values[i]
    print key, "(" line ")"
}
function asort_values(  i, j, kept) {
    for (i = 2; i <= n; i++) {
        kept = values[i]
        for (j = i - 1; j > 0 && values[j] "" > kept ""; j--) values[j + 1] = values[j]
        values[j + 1] = kept
    }
}'
"""


def graph(folder, stages, *, tasks=None, split_bytes=40, job_id="graph"):
    """A job of stages: name -> (what it runs, names of the phases that it follows).

    What runs is ("map", command), ("reduce", command) or ("python", name).
    """
    (folder / "code.py").write_text(CODE)
    (folder / "gather.sh").write_text(GATHER_SH)
    names = list(stages)
    runs, phases = [], []
    for name, (way, what, follows) in stages.items():
        part = {"map": "mapper", "reduce": "reducer", "python": "python"}[way]
        command = f"code.py:{what}" if way == "python" else tuple(shlex.split(what))
        files = {} if follows else {"input": (f"in/{name}*",)}
        runs.append(StageRun(name=name, follows=tuple(follows), **files, **{part: command}))
        phases.append(
            Phase(
                name=name,
                kind=SlotKind.CONTAINER,
                tasks=(tasks or {}).get(name, 1),
                after=tuple(sorted(names.index(one) for one in follows)),
            )
        )
    run = RunSpec(
        folder=str(folder),
        input=tuple(pattern for one in runs for pattern in one.input),
        output="out",
        split_bytes=split_bytes,
        stages=tuple(runs),
        env=(("LC_ALL", "C"),),
    )
    return Job(job_id=JobId(job_id), pool=PoolId("p"), phases=tuple(phases), run=run)


def write_files(folder, **contents):
    (folder / "in").mkdir(exist_ok=True)
    for name, text in contents.items():
        (folder / "in" / name).write_text(text)


def grouped(lines):
    """Return the groups that `gather` makes of pairs."""
    groups = defaultdict(list)
    for key, value in lines:
        groups[key].append(value)
    return [(key, "(" + " ".join(sorted(values)) + ")") for key, values in groups.items()]


KEYS = st.sampled_from(["a", "b", "c", "dd", "é", "x y"])
TEXTS = st.lists(st.tuples(KEYS, st.integers(0, 99).map(str)), max_size=8)


@st.composite
def graphs(draw):
    """Readers of files; then phases that gather, or tag, what one or two phases before wrote."""
    stages: dict[str, tuple[str, list[str]]] = {}
    kinds: dict[str, str] = {}
    for number in range(draw(st.integers(1, 2))):
        stages[f"s{number}"] = ("map", [])
    for number in range(draw(st.integers(1, 4))):
        name = f"p{number}"
        open_ends = [one for one in stages if all(one not in f for _, f in stages.values())]
        again = draw(st.sampled_from(sorted(stages)))
        follows = sorted({again, *draw(st.permutations(open_ends))[:1]})
        # The output of a phase is read by key or as it is, not both.
        known = {kinds[one] for one in follows if one in kinds}
        if len(known) > 1:
            follows = follows[:1]
            known = {kinds[one] for one in follows if one in kinds}
        kind = known.pop() if known else draw(st.sampled_from(["map", "reduce"]))
        kinds |= dict.fromkeys(follows, kind)
        stages[name] = (kind, follows)
    ends = [one for one in stages if all(one not in f for _, f in stages.values())]
    if len(ends) > 1 or not stages[ends[0]][1]:
        free = [one for one in ends if one not in kinds]
        stages["end"] = ("reduce", free)
    return stages


def expected(stages, texts):
    """The pairs that a graph makes, computed without tasks."""
    made: dict[str, list[tuple[str, str]]] = {}
    for name, (kind, follows) in stages.items():
        read = [pair for one in follows for pair in made[one]]
        if not follows:
            made[name] = list(texts[name])
        elif kind == "map":
            made[name] = [(key, f"<{value}>") for key, value in read]
        else:
            made[name] = grouped(read)
    return sorted(f"{key}\t{value}" for key, value in made[name])


COMMANDS = {"read": r"sed 's/:/\t/'", "map": r"sed 's/\t\(.*\)/\t<\1>/'", "reduce": GATHER}


@settings(max_examples=8, deadline=None)
@given(graphs(), st.data())
def test_a_graph_makes_what_its_stages_make_without_tasks(tmp_path_factory, stages, data):
    """Whatever the cuts of files and keys are, with commands and with functions."""
    texts = {name: data.draw(TEXTS) for name, (_, follows) in stages.items() if not follows}
    tasks = {
        name: data.draw(st.integers(1, 4)) for name, (kind, _) in stages.items() if kind == "reduce"
    }
    style = data.draw(st.sampled_from(["commands", "functions", "mixed"]))
    folder = tmp_path_factory.mktemp("graph")
    write_files(
        folder, **{name: "".join(f"{k}:{v}\n" for k, v in text) for name, text in texts.items()}
    )
    ways = {}
    for number, (name, (kind, follows)) in enumerate(stages.items()):
        is_python = style == "functions" or (style == "mixed" and number % 2)
        what = kind if follows else "read"
        python = {"read": "read", "map": "tag", "reduce": "gather"}[what]
        ways[name] = ("python", python, follows) if is_python else (kind, COMMANDS[what], follows)
    job = graph(folder, ways, tasks=tasks, split_bytes=data.draw(st.integers(12, 60)))

    parts = run_job(job, folder)

    event(f"{style}, {len(stages)} stages, {sum(len(f) > 1 for _, f in stages.values())} unions")
    assert expected(stages, texts) == sorted(b"".join(parts).decode().splitlines())


JOIN = {
    "s0": ("python", "read", []),
    "s1": ("python", "read", []),
    "join": ("python", "both", ["s1", "s0"]),
}


@pytest.mark.parametrize("has_command", [False, True])
def test_a_function_joins_the_phases_that_it_follows(tmp_path, has_command):
    """Its arguments are in the order of `after`; a key may be missing on one side."""
    write_files(tmp_path, s0="a:1\nb:2\na:3\n", s1="c:4\na:5\n")
    stages = {**JOIN, "s0": ("map", COMMANDS["read"], [])} if has_command else JOIN

    parts = run_job(graph(tmp_path, stages, tasks={"join": 2}), tmp_path)

    assert sorted(b"".join(parts).splitlines()) == [b"a\t5|1 3", b"b\t|2", b"c\t4|"]


def test_values_keep_their_types_between_phases_of_functions(tmp_path):
    """One command in the graph, and all phases exchange text."""
    (tmp_path / "kinds.py").write_text(
        "def read(line):\n    yield (1, 'x'), [len(line)]\n\n\n"
        "def show(key, values):\n    yield type(key).__name__, [type(v).__name__ for v in values]\n"
    )
    write_files(tmp_path, s0="aa\n")
    found = []
    for last in ({}, {"end": ("map", "cat", ["show"])}):
        stages = {"s0": ("python", "read", []), "show": ("python", "show", ["s0"]), **last}
        job = graph(tmp_path, stages, job_id=f"types{len(last)}")
        runs = [
            replace(one, python=one.python and one.python.replace("code", "kinds"))
            for one in job.run.stages
        ]
        job = replace(job, run=replace(job.run, stages=tuple(runs), output=f"out{len(last)}"))
        found += run_job(job, tmp_path)

    assert found == [b'tuple\t["list"]\n', b'str\t["str"]\n']


def test_a_mapper_has_a_task_for_each_task_that_it_follows(tmp_path):
    write_files(tmp_path, s0="a\n" * 30, s1="b\n")
    stages = {
        "s0": ("map", "cat", []),
        "s1": ("map", "cat", []),
        "count": ("map", "wc -l", ["s1", "s0"]),
    }
    prepared = prepare(graph(tmp_path, stages, split_bytes=20))

    outputs, _ = run_tasks(prepared, tmp_path)

    assert [phase.tasks for phase in prepared.job.phases] == [3, 1, 4]
    counts = [Path(outputs[2, task][0]).read_text().strip() for task in range(4)]
    assert counts == ["1", "10", "10", "10"]


def test_a_task_whose_output_is_damaged_is_blamed_in_any_phase(tmp_path):
    write_files(tmp_path, s0="a:1\nb:2\nc:3\n")
    stages = {
        "s0": ("map", COMMANDS["read"], []),
        "first": ("reduce", "cat", ["s0"]),
        "second": ("reduce", "cat", ["first"]),
        "third": ("reduce", "cat", ["first", "second"]),
    }
    prepared = prepare(graph(tmp_path, stages, tasks={"first": 2, "second": 4, "third": 3}))
    outputs, _ = run_tasks(prepared, tmp_path)
    assert [role.segments for role in prepared.roles] == [2, 12, 3, 0]
    spill = Path(outputs[1, 1][0])
    spill.write_bytes(spill.read_bytes()[:-3])

    with pytest.raises(WorkFailed) as failure:
        attempt(prepared.work(3, 0, outputs), place_in(tmp_path, "again-1-e1"))

    assert failure.value.blames == [(1, 1)]


def test_a_prepared_graph_comes_back_from_its_record(tmp_path):
    write_files(tmp_path, s0="a:1\n" * 20, s1="b:2\n")
    prepared = prepare(graph(tmp_path, JOIN, tasks={"join": 3}))
    again = PreparedJob.from_json(prepared.job, json.loads(json.dumps(prepared.to_json())))

    assert replace(again, env=prepared.env) == prepared
    assert [role.splits for role in prepared.roles] == [2, 1, 0]


def test_input_that_jobs_before_it_make_is_laid_out_later(tmp_path):
    write_files(tmp_path, s1="b:2\n")
    job = graph(tmp_path, JOIN, tasks={"join": 3})
    prepared = prepare(job, made={"in/s0*": 7})
    assert [phase.tasks for phase in prepared.job.phases] == [7, 1, 3]
    write_files(tmp_path, s0="a:1\n" * 20)

    ready = laid_out(prepared)

    assert [phase.tasks for phase in ready.job.phases] == [2, 1, 3]
    assert ready.splits_of(1)[0].path.endswith("in/s1")


@pytest.mark.parametrize(
    ("stages", "heard"),
    [
        ({"a": ("map", "cat", []), "b": ("map", "cat", [])}, "phases 'a' and 'b' both end the job"),
        (
            {
                "a": ("map", "cat", []),
                "b": ("map", "cat", ["a"]),
                "c": ("reduce", "cat", ["a"]),
                "d": ("reduce", "cat", ["b", "c"]),
            },
            "by the mapper of 'b' as it is, and by the reducer of 'c' by key",
        ),
        ({"a": ("python", "gather", [])}, "lines are not sorted by key"),
        (
            {"a": ("map", "cat", []), "b": ("python", "both", ["a"])},
            "takes the values of 2 phases, and it follows 1",
        ),
        ({"a": ("map", "no-such-program", [])}, "phase 'a': mapper 'no-such-program' is not found"),
        ({"a": ("python", "nowhere", [])}, "phase 'a': python 'code.py:nowhere'"),
    ],
)
def test_a_graph_that_cannot_run_is_refused(tmp_path, stages, heard):
    write_files(
        tmp_path, **{name: "x\n" for name, (_, _, follows) in stages.items() if not follows}
    )
    with pytest.raises(InvalidInput) as refusal:
        prepare(graph(tmp_path, stages))

    assert heard in str(refusal.value)


def test_phases_whose_sizes_do_not_go_together_are_refused(tmp_path):
    write_files(tmp_path, s0="x\n")
    stages = {
        "s0": ("map", "cat", []),
        "a": ("reduce", "cat", ["s0"]),
        "b": ("reduce", "cat", ["s0", "a"]),
    }
    with pytest.raises(InvalidInput, match="needs 89701 segments, above 10000"):
        prepare(graph(tmp_path, stages, tasks={"a": 331, "b": 271}))
