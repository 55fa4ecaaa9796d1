"""Whatever is wrong: one message that says what, where and how to mend it, and an exit code."""

import json
import os
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import sluice
from tests.ingest.bad_workloads.cases import CASES

from sluice.bootstrap.policy_classes import policy_names
from sluice.cli import commands, failures
from sluice.engines.interruption import RunInterrupted
from sluice.model.errors import (
    EngineUnavailable,
    Infeasible,
    InvalidInput,
    SluiceError,
    StoreCorrupt,
)


def refused(answer, *fragments):
    """The answer is exit 2, nothing on stdout, and a message that holds every fragment."""
    assert (2, "") == (answer.code, answer.out), answer
    assert [] == [fragment for fragment in fragments if fragment not in answer.err], answer.err
    assert "Traceback" not in answer.err
    assert answer.err.replace("\n", "").isprintable()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_workload_is_refused(case, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_bytes(case.content)

    refused(sluice("validate", path), f"{path} ", *case.fragments)


WRONG_WORDS = [
    # verbs and flags
    (["simulat", "small.yaml"], ["sluice", "'simulat'", "Did you mean simulate?"]),
    (["frobnicate"], ["'frobnicate'", "`sluice --help` lists the commands"]),
    (["--verion"], ["--verion", "Did you mean --version?"]),
    (["-x"], ["no option -x", "sluice --help"]),
    (["simulate"], ["sluice simulate", "FILE", "simulate --help"]),
    (["simulate", "small.yaml", "--taks", "fair"], ["--taks", "Did you mean --tasks?"]),
    (["simulate", "small.yaml", "--sed=1"], ["--sed", "Did you mean --seed", "simulate --help"]),
    (["simulate", "small.yaml", "--json=1"], ["--json", "value"]),
    (["simulate", "small.yaml", "--set"], ["--set", "argument"]),
    (["simulate", "small.yaml", "more.yaml"], ["more.yaml", "simulate --help"]),
    (["compare", "small.yaml", "--tasks", "fair"], ["--tasks", "compare --help"]),
    (["validate", "small.yaml", "--seed", "1"], ["--seed", "validate --help"]),
    (["why"], ["sluice why", "JOB"]),
    (["version", "now"], ["now"]),
    # values
    (["simulate", "small.yaml", "--tasks", "fifoo"], ["--tasks", "'fifoo'", "fifo"]),
    (["simulate", "small.yaml", "--tasks", ""], ["--tasks", "fair, fcfs, fifo"]),
    (["simulate", "small.yaml", "--tasks", "../../etc"], ["--tasks", "'../../etc'"]),
    (["simulate", "small.yaml", "--release", "inputs"], ["--release", "input"]),
    (["simulate", "small.yaml", "--admission", "some"], ["--admission", "'some'", "all"]),
    (["simulate", "small.yaml", "--seed", "x"], ["--seed", "'x'"]),
    (["simulate", "small.yaml", "--seed", "-1"], ["--seed", "'-1'", "from 0"]),
    (["simulate", "small.yaml", "--seed", "1.5"], ["--seed", "'1.5'"]),
    (["simulate", "small.yaml", "--seed", "9" * 5000], ["--seed", "'999"]),
    (["simulate", "small.yaml", "--seed", "٣"], ["--seed", "'٣'"]),
    (["compare", "small.yaml", "--seeds", "0"], ["--seeds", "'0'", "from 1"]),
    (["compare", "small.yaml", "--seeds", "many"], ["--seeds", "'many'"]),
    (["compare", "small.yaml", "--schedulers", ""], ["--schedulers", "fifo"]),
    (["compare", "small.yaml", "--schedulers", ",,"], ["--schedulers"]),
    (["compare", "small.yaml", "--schedulers", "fifo,fare"], ["'fare'", "fair"]),
    (["compare", "small.yaml", "--schedulers", "mr+fifo"], ["--schedulers mr+fifo", "'mr'"]),
    (["run", "small.yaml", "--engine", "rai"], ["--engine", "'rai'", "ray"]),
    (["run", "small.yaml", "--nodes", "0"], ["--nodes", "'0'", "from 1"]),
    (["run", "small.yaml", "--map-slots", "two"], ["--map-slots", "'two'"]),
    (["run", "small.yaml", "--reduce-slots", "-1"], ["--reduce-slots", "'-1'"]),
    (["run", "small.yaml"], ["job 'words'", "run is missing", "simulate"]),
    # settings
    (["simulate", "small.yaml", "--set", "jitter"], ["--set jitter", "key=value"]),
    (["simulate", "small.yaml", "--set", "jiter=0.1"], ["jiter", "jitter"]),
    (["simulate", "small.yaml", "--set", "jitter=2"], ["jitter is 2", "below 1"]),
    (["simulate", "small.yaml", "--set", "jitter=nan"], ["jitter is", "nan"]),
    (["simulate", "small.yaml", "--set", "jitter="], ["jitter is"]),
    (["simulate", "small.yaml", "--set", "=1"], ["--set =1"]),
    (["simulate", "small.yaml", "--set", "slowstart=-1"], ["slowstart is -1", "0 to 1"]),
    (["simulate", "small.yaml", "--set", "contention=some"], ["contention is", "none or shared"]),
    (["simulate", "small.yaml", "--set", "replicas=1.5"], ["replicas is 1.5", "whole"]),
    (["simulate", "small.yaml", "--set", "fare.jitter=0.1"], ["'fare'", "fair"]),
    (["simulate", "small.yaml", "--set", "jitter=[["], ["jitter is"]),
    (["simulate", "small.yaml", "--set", "jitter=" + "[" * 100_000], ["jitter is"]),
    (["simulate", "small.yaml", "--set", "\x1b[31m=1"], ["--set \\x1b[31m=1"]),
    # files that are read
    (["simulate", "missing.yaml"], ["missing.yaml", "No such file"]),
    (["validate", "."], [".: ", "directory"]),
    (["validate", ""], ["FILE", "the path is empty"]),
    (["validate", "nul\0.yaml"], ["nul\\x00.yaml", "cannot be read"]),
    (["validate", "x" * 5000], ["xxx", "File name too long"]),
    (["validate", "small.yaml/w.yaml"], ["small.yaml/w.yaml", "cannot be read"]),
    (["validate", "\x1b]0;gone\x07.yaml"], ["\\x1b]0;gone\\x07.yaml"]),
    (["simulate", "small.yaml", "--lengths-from", "no.jsonl"], ["no.jsonl", "No such file"]),
    (["simulate", "small.yaml", "--lengths-from", "small.yaml"], ["small.yaml line 1", "trace"]),
    # files that are written
    (["simulate", "small.yaml", "--trace", "no/out.jsonl"], ["--trace", "no folder no"]),
    (["simulate", "small.yaml", "--trace", "."], ["--trace", "folder"]),
    (["simulate", "small.yaml", "--trace", "-"], ["--trace", "'-'"]),
    (["simulate", "small.yaml", "--trace", ""], ["--trace", "''"]),
    (["simulate", "small.yaml", "--trace", "a\0b"], ["--trace", "NUL"]),
    (["simulate", "small.yaml", "--trace", "./small.yaml"], ["--trace", "overwritten"]),
    (["simulate", "small.yaml", "--plot", "out.pdf"], ["--plot", "out.pdf", ".svg"]),
    (["simulate", "small.yaml", "--plot", "out"], ["--plot", ".html"]),
    (["simulate", "small.yaml", "--plot", "no/out.json"], ["--plot", "no folder no"]),
    (["compare", "small.yaml", "--plot", "out.gif"], ["--plot", "out.gif"]),
    (["simulate", "small.yaml", "--trace", "a.json", "--plot", "a.json"], ["--plot", "trace"]),
    # why and story
    (["why", "word", "--file", "small.yaml"], ["'word'", "words"]),
    (["why", "words"], ["no run is recorded", "--file"]),
    (["why", "words", "--run", "x"], ["--run", "'x'"]),
    (["why", "words", "--run", "../../etc"], ["--run", "'../../etc'"]),
    (["why", "words", "--run", "x", "--file", "small.yaml"], ["--run", "--file"]),
    (["why", "words", "--tasks", "fair"], ["--tasks", "--file"]),
    (["story", "words", "--set", "jitter=0"], ["--set", "--file"]),
    (["why", "words", "--file", "small.yaml", "--at-s", "-1"], ["--at-s", "'-1'"]),
    (["why", "words", "--file", "small.yaml", "--at-s", "nan"], ["--at-s", "'nan'"]),
    (["why", "words", "--file", "small.yaml", "--at-s", "noon"], ["--at-s", "'noon'"]),
    (["story", "words/map/99", "--file", "small.yaml"], ["'words/map/99'"]),
    (["story", "\x1b[2J", "--file", "small.yaml"], ["x1b[2J"]),
]


@pytest.mark.parametrize(("words", "fragments"), WRONG_WORDS, ids=lambda part: str(part)[:60])
def test_a_wrong_command_line_is_refused(words, fragments, small):
    refused(sluice(*words), *fragments)


def test_a_wrong_file_on_standard_input_is_named_so():
    refused(sluice("simulate", "-", stdin=b"\x00\xff\x7fELF"), "standard input line 1")
    refused(sluice("validate", "-", stdin=b""), "standard input", "empty")


def test_refusals_are_no_documents_even_with_json(small):
    refused(sluice("simulate", small, "--json", "--trace", "no/out.jsonl"), "--trace")
    refused(sluice("validate", "missing.yaml", "--json"), "missing.yaml")


def test_nothing_is_written_where_an_answer_is_refused(small, tmp_path):
    refused(sluice("simulate", small, "--trace", "out.jsonl", "--tasks", "fifoo"), "fifoo")

    assert ["small.yaml"] == [path.name for path in tmp_path.iterdir()]


def test_a_folder_that_may_not_be_written_is_named(small, monkeypatch):
    """Root may write everywhere, so the system's answer is stood in for."""
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)

    refused(sluice("simulate", small, "--trace", "out.jsonl"), "--trace", "permission denied")


def test_a_file_is_no_folder_to_write_to(small):
    refused(sluice("simulate", small, "--trace", "small.yaml/out.jsonl"), "no folder small.yaml")


def workload(tmp_path, *jobs, **cluster):
    """A file with these jobs."""
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"version": 1, "cluster": cluster, "jobs": jobs}))
    return path


NEEDS_A_RUN = {"input": ["in.txt"], "output": "out", "mapper": "cat", "reducer": "cat"}
UNKNOWN_LENGTHS = [
    ({"run": NEEDS_A_RUN}, ["maps has no lengths", "`run` does not contain task lengths"]),
    ({"run": NEEDS_A_RUN, "reduces": {"tasks": 2}}, ["maps has no lengths", "avg_s"]),
    ({"profile": "wordcount"}, ["profile 'wordcount' is stored"]),
]


@pytest.mark.parametrize(("said", "fragments"), UNKNOWN_LENGTHS, ids=["run", "reduces", "profile"])
@pytest.mark.parametrize("verb", ["simulate", "compare"])
def test_what_nobody_can_simulate_is_said_to_lack_lengths(verb, said, fragments, tmp_path):
    (tmp_path / "in.txt").write_text("x\n")
    path = workload(tmp_path, {"id": "a", **said}, map_slots=2, reduce_slots=2)

    refused(sluice(verb, path), "job 'a'", *fragments)


@pytest.mark.parametrize("verb", ["simulate", "compare"])
def test_a_workload_without_jobs_is_refused(verb, tmp_path):
    refused(sluice(verb, workload(tmp_path, map_slots=2)), "jobs is empty")


def test_a_simulation_that_no_memory_holds_is_refused_at_once(tmp_path):
    many = {"id": "a", "maps": {"tasks": 10**8, "avg_s": 1}}
    few_slots = workload(tmp_path, many, map_slots=2)

    refused(sluice("simulate", few_slots), "50,000,000", "slots")
    refused(sluice("simulate", few_slots, "--set", "jitter=0.1"), "100,000,000", "jitter")


@pytest.mark.parametrize(
    ("flags", "fragments"),
    [
        (["--map-slots", "0"], ["--map-slots", "'0'", "from 1"]),
        (["--reduce-slots", "0"], ["job 'a'", "reduce_slots", "is 0"]),
    ],
    ids=["map", "reduce"],
)
def test_a_run_without_room_is_refused_before_it_begins(flags, fragments, tmp_path, home):
    (tmp_path / "in.txt").write_text("x\n")
    path = workload(tmp_path, {"id": "a", "run": NEEDS_A_RUN}, map_slots=1, reduce_slots=1)

    refused(sluice("run", path, *flags), *fragments)
    assert not list(home.glob("runs/*"))
    assert not (tmp_path / "out").exists()


def test_jobs_without_room_are_named(tmp_path):
    path = tmp_path / "w.json"
    job = {"id": "a", "maps": {"tasks": 1, "avg_s": 1}}
    path.write_text(json.dumps({"version": 1, "cluster": {"reduce_slots": 1}, "jobs": [job]}))

    refused(sluice("simulate", path), "job 'a'", "map_slots")


# --- whatever else goes wrong ---------------------------------------------------------------------


def answering(error, monkeypatch):
    """The answer of a verb that raises the error."""

    def fail(_file):
        raise error

    monkeypatch.setattr("sluice.api.workload.validate", fail)
    return sluice("validate", "any.yaml")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InvalidInput("x is 5", where="f line 1", hint="give 4"), 2, "f line 1: x is 5. Give 4."),
        (Infeasible("Nobody can do this."), 1, "Nobody can do this."),
        (EngineUnavailable("No node is up."), 3, "No node is up."),
        (StoreCorrupt("row 3 is damaged."), 3, "row 3 is damaged."),
        (RunInterrupted("The run was stopped."), 130, "The run was stopped."),
        (SluiceError("Something else."), 3, "Something else."),
        (KeyboardInterrupt(), 130, "Stopped."),
        (MemoryError(), 3, "There is not enough memory for this."),
        (OSError(28, "No space left on device", "out"), 3, "out: No space left on device."),
        (ZeroDivisionError("by zero"), 3, "ZeroDivisionError: by zero. Please report it"),
        (RecursionError(), 3, "RecursionError. Please report it"),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, BaseException) else None,
)
def test_every_error_has_one_message_and_an_exit_code(error, code, message, monkeypatch):
    answer = answering(error, monkeypatch)

    assert (code, "") == (answer.code, answer.out)
    assert message in answer.err
    assert 1 == answer.err.count("\n")
    assert "Traceback" not in answer.err


def test_a_reader_that_went_away_is_no_error(monkeypatch):
    answer = answering(BrokenPipeError(), monkeypatch)

    assert (failures.PIPE_CLOSED, "", "") == answer


def test_the_place_of_an_error_of_our_own_is_shown_on_demand(monkeypatch):
    monkeypatch.setenv("SLUICE_DEBUG", "1")

    assert "Traceback" in answering(ZeroDivisionError(), monkeypatch).err


def test_ctrl_c_in_a_run_shows_how_to_go_on(monkeypatch):
    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sluice.api.run.run", stop)
    monkeypatch.setattr(sys, "argv", ["sluice", "run", "any.yaml"])

    answer = sluice("run", "any.yaml")

    assert 130 == answer.code
    assert "--resume" in answer.err


def test_a_missing_extra_is_shown_before_the_work(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    answer = sluice("simulate", small, "--plot", "out.png")

    assert (3, "") == (answer.code, answer.out)
    assert 'pip install "sluice[plot]"' in answer.err


def test_every_verb_is_reached_by_its_name():
    """No verb is unknown, and each answers a question for help."""
    verbs = [
        verb.name or getattr(verb.callback, "__name__", "").replace("_", "-")
        for verb in commands.with_all_commands().registered_commands
    ]

    assert len(verbs) > 30
    for verb in verbs:
        answer = sluice(verb, "--help")
        assert (answer.code, answer.err) == (0, ""), verb
    assert "fifo" in policy_names("tasks")


@pytest.mark.parametrize("verb", ["validate", "run", "simulate"])
def test_shell_syntax_in_a_command_is_refused_with_the_line_to_write(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("a\n")
    (tmp_path / "jobs.yaml").write_text(
        "version: 1\n"
        "jobs:\n"
        "  - id: a\n"
        "    maps: {tasks: 1, avg_s: 1}\n"
        "    run: {input: [in.txt], output: out, mapper: cut -f1 | sort -u}\n"
    )

    answer = sluice(verb, "jobs.yaml")

    refused(answer, "jobs.yaml line 5", 'run.mapper holds "|"', "sh -c 'cut -f1 | sort -u'")
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_given_as_an_argument_is_sent_to_its_option():
    found = sluice("why", "etl", "jobs.yaml")
    assert found.code == 2
    assert "Name a file with --file" in found.err
    found = sluice("simulate", "jobs.yaml", "more.yaml")
    assert found.code == 2
    assert "--file" not in found.err


# --- what a message suggests ----------------------------------------------------------------------

QUEUES = Path(__file__).resolve().parents[2] / "examples" / "queues"


def test_a_message_calls_an_option_as_the_command_does():
    answer = sluice(
        "whatif", "--history", QUEUES / "sacct.txt", "--history-set", "nonsense=1",
        "--config", QUEUES / "capacity-scheduler.xml",
    )  # fmt: skip

    assert answer.code == 2
    assert answer.err.startswith("--history-set: 'nonsense' is not an option here.")


def test_a_second_log_without_an_option_is_seen_as_one():
    answer = sluice("validate", "--from-log", QUEUES / "squeue.txt", QUEUES / "sacct.txt")

    assert answer.code == 2
    assert "with a --from-log of its own" in answer.err


def test_serve_has_no_panel_for_an_option_that_it_lacks():
    assert "With --file" not in sluice("serve", "--help").out
