"""The output of the verbs: tables for people, and one JSON document for programs."""

import itertools
import json
from textwrap import dedent

import pytest
from tests.cli.terminal import SMALL, sluice

import sluice as package
from sluice.api import simulate

VERBS = (
    "simulate", "compare", "run", "why", "story", "explain", "report", "predict", "size", "whatif",
    "plan", "order", "capacity", "pools", "share", "fairness", "import", "profiles", "calibrate",
    "profile-run", "reproduce", "init", "demo", "validate", "settings", "schema", "version", "runs",
)  # fmt: skip


def text(block):
    """The block without the indentation it has in this file."""
    return dedent(block).removeprefix("\n")


def document(*words, **options):
    """The one JSON document that `sluice WORDS --json` prints."""
    answer = sluice(*words, "--json", **options)
    assert (0, 1) == (answer.code, answer.out.count("\n")), answer
    return json.loads(answer.out, parse_constant=pytest.fail)


# --- for people -----------------------------------------------------------------------------------


def test_simulate_prints_jobs_and_a_summary(small):
    answer = sluice("simulate", small)

    assert 0 == answer.code
    assert answer.out == text("""
        All 2 jobs are done after 50 s; 1 of 2 deadlines met, late: sort.

         job    pool   submitted  waited  ran  finished  state
         ──────────────────────────────────────────────────────────
         words  etl           0s      0s  25s       25s  done, met
         sort   adhoc         5s     15s  30s       50s  done, late

        ╭─ run ────────────────────────────────────────────╮
        │ makespan       50 s                              │
        │ mean response  35 s                              │
        │ deadlines met  1 of 2                            │
        │ slots in use   map slots 60 %, reduce slots 50 % │
        │ jobs           2 done                            │
        │ attempts       16 done                           │
        ╰──────────────────────────────────────────────────╯
        """)


def test_a_late_job_leads_to_why(small):
    """The command can be pasted as it is, and simulates the same run."""
    answer = sluice("simulate", small, "--tasks", "fair", "--seed", "3", "--set", "jitter=0.1")
    words = answer.err.split("sluice ", 1)[1].split()

    assert "A job is late." in answer.err
    assert ["why", "--file=small.yaml", "--tasks=fair", "--seed=3", "--set=jitter=0.1"] == words[:5]
    assert "what would save most" in sluice(*words).out


def test_compare_shows_an_observer_what_comes_next(small):
    said = []

    simulate.compare(small, ["fifo", "fair"], seeds=2, on_progress=lambda *what: said.append(what))

    assert [("fifo", 0), ("fifo", 1), ("fair", 0), ("fair", 1)] == said


def test_compare_marks_clear_differences(small):
    answer = sluice("compare", small, "--schedulers", "fifo,yarn-like", "--seeds", "2")
    rows = {line.split()[0]: line for line in reversed(answer.out.splitlines()) if line.strip()}

    assert 0 == answer.code
    assert "makespan" in rows["scheduler"]
    assert "*" in rows["yarn-like"]
    assert "*" not in rows["fifo"]
    assert max(map(len, answer.out.splitlines())) <= 80


def test_validate_shows_what_it_understood(small):
    answer = sluice("validate", small)

    assert 0 == answer.code
    assert answer.out == text("""
        small.yaml is a valid workload.
        cluster   4 map slots and 2 reduce slots
        pools     etl, adhoc
        jobs      2, 2 with a deadline
        tasks     12 map, 4 reduce
        work      2 m 00 s map, 50 s reduce
        makespan  at least 35 s (lower bound)
        warning: job 'sort' cannot meet its deadline: 10 s are given, and it takes 30 s
        with the whole cluster to itself
        """)
    assert answer.err == "Next: sluice simulate small.yaml\n"


def test_validate_counts_one_slot_and_one_job_as_one(tmp_path):
    job = {"id": "words", "reduces": {"tasks": 1}, "run": {"input": ["."], "output": "out"}}
    job["run"]["mapper"] = "cat"
    cluster = {"map_slots": 2, "reduce_slots": 1}
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"version": 1, "cluster": cluster, "jobs": [job]}))
    answer = sluice("validate", str(path))

    assert "2 map slots and 1 reduce slot\n" in answer.out
    assert "of 1 job unknown" in answer.out


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (("map_slots_min: 1", "map_slots_min: 9"), "guaranteed 9 map slots together"),
        (("{id: adhoc}", "{id: adhoc}, {id: idle}"), "no job is in pool 'idle'"),
        (("reduce_slots: 2", "reduce_slots: 0"), "no reduce slots, and 2 jobs have"),
    ],
)
def test_validate_warns_of_what_looks_unintended(change, warning):
    answer = sluice("validate", "-", stdin=SMALL.replace(*change).encode())

    assert 0 == answer.code
    assert warning in " ".join(answer.out.split())


def test_why_and_story_explain_a_simulation(small):
    why = sluice("why", "sort", "--file", small, "--at-s", "12")
    story = sluice("story", "sort", "--file", small)

    assert (0, 0) == (why.code, story.code)
    assert "all 4 map slots are busy" in why.out
    assert "submitted: to pool adhoc" in story.out


def test_every_setting_is_listed_with_its_default():
    from sluice.bootstrap.settings import declarations

    answer = sluice("settings")

    assert 0 == answer.code
    assert [] == [key for key in declarations().all_settings() if f" {key} " not in answer.out]


def test_an_id_is_printed_as_it_is(tmp_path):
    """Neither markup nor an emoji code in an id is obeyed."""
    path = tmp_path / "w.json"
    job = {"id": "[red]:smile:[/]", "maps": {"tasks": 1, "avg_s": 1}, "pool": "[b]"}
    workload = {"version": 1, "cluster": {"map_slots": 1}, "jobs": [job], "pools": [{"id": "[b]"}]}
    path.write_text(json.dumps(workload))

    for words in (["simulate", path], ["validate", path], ["why", job["id"], "--file", path]):
        answer = sluice(*words)
        assert 0 == answer.code
        assert "[b]" in answer.out or "[red]:smile:[/]" in answer.out


# --- for programs ---------------------------------------------------------------------------------


def test_the_document_of_simulate_is_that_of_the_contract(small):
    said = document("simulate", small)

    assert {"makespan_s", "total_completion_s", "total_response_s", "events", "digest", "seed"} <= {
        *said
    }
    assert (50.0, 75.0, 70.0) == (
        said["makespan_s"], said["total_completion_s"], said["total_response_s"],
    )  # fmt: skip
    assert said["digest"].startswith("sha256:")
    assert {"map_slots", "reduce_slots"} <= {*said["utilisation"]}
    keys = {"submitted_at_s", "started_at_s", "finished_at_s", "deadline_met", "state"}
    assert all(keys <= {*job} for job in said["jobs"].values())
    assert {"words": True, "sort": False} == {
        job: row["deadline_met"] for job, row in said["jobs"].items()
    }


def test_why_shows_of_the_instant_that_was_asked_about(small):
    """Nothing happens between 10 s and 15 s; the answer is about 12 s all the same."""
    assert 12 == document("why", "sort", "--file", small, "--at-s", "12")["at_s"]


def test_the_document_of_compare_is_that_of_the_contract(small):
    rows = document("compare", small, "--schedulers", "fifo,fair", "--seeds", "2")["rows"]

    assert ["fifo", "fair"] == [row["scheduler"] for row in rows]
    assert all(
        {"makespan_s", "total_response_s", "deadlines_met", "cost_usd"} <= {*row} for row in rows
    )


def test_the_document_of_validate_counts(small):
    said = document("validate", small)

    assert said["valid"] is True
    assert {"map": 12, "reduce": 4} == said["tasks"]
    assert {"map": 120.0, "reduce": 50.0} == said["work_s"]
    assert 1 == len(said["warnings"])


def test_why_story_settings_and_version_have_documents(small):
    assert "sort" == document("why", "sort", "--file", small)["job"]
    assert "sort/map/1" == document("story", "sort/map/1", "--file", small)["id"]
    assert 1.0 == document("settings")["settings"]["slowstart"]["default"]
    assert package.__version__ == document("version")["version"]


@pytest.mark.parametrize("name", ["copies.spec_cap", "spec_cap", "copies"])
def test_a_setting_is_shown_with_its_reason(name):
    found = document("settings", name)["settings"]["copies.spec_cap"]

    assert "SpeculativeCap" in found["reason"]
    assert "SpeculativeCap" in sluice("settings", name).out
    assert "SpeculativeCap" not in sluice("settings").out  # a list says what, not why


def test_a_setting_that_is_not_known_is_refused_with_the_nearest_one():
    answer = sluice("settings", "copies.spec_cup")

    assert 2 == answer.code
    assert "unknown setting copies.spec_cup. Did you mean copies.spec_cap?" in answer.err


def test_the_schema_is_json():
    answer = sluice("schema")

    assert 0 == answer.code
    assert "Sluice workload file" == json.loads(answer.out)["title"]


def test_a_workload_may_come_from_standard_input():
    assert 50.0 == document("simulate", "-", stdin=SMALL.encode())["makespan_s"]
    assert 0 == sluice("validate", "-", stdin=SMALL.encode()).code


# --- files ----------------------------------------------------------------------------------------


def test_the_trace_gives_the_digest_and_the_lengths(small, tmp_path):
    """A replay of a trace under the same policy is the same run."""
    first = document("simulate", small, "--set", "jitter=0.3", "--trace", "out.jsonl")
    again = document("simulate", small, "--lengths-from", "out.jsonl")

    assert 16 == len((tmp_path / "out.jsonl").read_text().splitlines())
    assert first["digest"] == again["digest"]


def test_charts_are_written_beside_the_answer(small, tmp_path):
    run = sluice("simulate", small, "--plot", "run.json")
    compared = sluice("compare", small, "--seeds", "2", "--plot", "compared.json")

    assert "plot: run.json\n" in run.err
    assert "plot: compared.json\n" in compared.err
    for name in ("run.json", "compared.json"):
        assert "vega-lite" in json.loads((tmp_path / name).read_text())["$schema"]


def test_every_chart_that_can_be_saved_can_be_asked_for():
    from sluice.cli.files import PLOT_ENDINGS
    from sluice.reporting.charts.chart import _FORMATS

    assert set(_FORMATS) == set(PLOT_ENDINGS)


# --- help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [*VERBS, "runs list", "runs show", "runs clean"])
def test_help_of_80_columns_reads_well(verb):
    """Examples are not broken, so that they can be copied; a name has one pair of brackets."""
    answer = sluice(*verb.split(), "--help")
    lines = [line.strip(" \u2502") for line in answer.out.splitlines()]
    examples = [line for line in lines if line.startswith("Example: ")]
    after = [lines[lines.index(example) + 1] for example in examples]

    assert 0 == answer.code
    assert examples or verb == "version"
    assert f"Example: sluice {verb}" in answer.out or verb in {"version", "report"}
    assert set(after) <= {""}
    assert "[[" not in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


@pytest.mark.parametrize("verb", ["profiles", "runs clean"])
def test_a_paragraph_of_help_is_filled(verb):
    """A sentence of the docstring's second paragraph does not end where its source line ended."""
    lines = sluice(*verb.split(), "--help").out.splitlines()
    text = lines[3 : next(n for n, line in enumerate(lines) if "Example" in line)]
    short = [
        line
        for line, after in itertools.pairwise(text)
        if line.strip() and after.strip() and len(line.rstrip() + " " + after.split()[0]) < 79
    ]

    assert not short


def test_help_names_the_policies_of_options_that_the_command_has():
    assert "--admission" in sluice("run", "--help").out
    for verb in ("compare", "whatif"):
        assert "--admission" not in sluice(verb, "--help").out


def test_help_of_simulate_names_policies_and_where_settings_are():
    answer = sluice("simulate", "--help")

    assert "yarn-like" in answer.out
    assert "`sluice settings` lists what --set takes." in answer.out
    assert "node_mtbf_s" not in answer.out
    assert "node_mtbf_s" in sluice("settings").out


@pytest.mark.parametrize(
    "words", [[], ["simulate"], ["serve"], ["runs", "clean"], ["runs", "show"], ["import"]]
)
def test_no_help_shows_a_type_of_python(words):
    assert "<" not in sluice(*words, "--help").out


def test_the_help_groups_commands_by_what_they_are_for():
    shown = sluice("--help").out

    titles = ["Decide before it costs", "Run jobs", "Ask why, and when", "Learn from the past"]
    assert [title for title in titles if title in shown] == titles
    assert shown.index("simulate") < shown.index("Run jobs") < shown.index("│ submit")


def test_without_a_verb_help_is_printed():
    assert sluice("--help").out.strip() == sluice().out.strip()
