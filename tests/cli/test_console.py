"""The real thing: `python -m sluice` as a process, with its pipes, signals and imports."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.terminal import PLAIN, SMALL, sluice, sluice_process
from typer.main import get_command

from sluice.cli import panels
from sluice.cli.commands import with_all_commands
from sluice.cli.files import Files
from sluice.cli.panels import COMMANDS

EXAMPLE = "examples/worked_example.yaml"
HEAVY = ("yaml", "vl_convert", "pandas", "sqlite3", "sluice.simulation", "sluice.engines.driver")

WORDS = """\
version: 1
jobs:
  - id: words
    reduces: {tasks: 2}
    run: {input: [in.txt], output: out, mapper: cat, reducer: cat}
"""


def imported_by(script, heavy=HEAVY):
    """Which of the heavy modules a fresh interpreter holds after the script."""
    after = f"{script}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", after], capture_output=True, check=True, text=True)
    modules = set(json.loads(done.stderr.splitlines()[-1]))
    assert "sluice" in modules
    return [name for name in heavy if name in modules]


def test_a_short_command_is_not_searched_for_garbage():
    """Modules are none; at Python's own 700 new objects, a search takes a tenth of its time."""
    script = (
        "import gc, sys; from sluice import cli; searches = []; gc.collect()\n"
        f"sys.argv = ['sluice', 'simulate', {EXAMPLE!r}]\n"
        "gc.callbacks.append(lambda phase, found: searches.append(found['generation']))\n"
        "assert 0 == cli.main(); assert not searches, searches"
    )

    assert imported_by(script, ("rich.table", "rich._emoji_codes")) == ["rich.table"]


@pytest.mark.parametrize(
    "script",
    [
        "import sluice",
        "import sluice; sluice.SluiceError",
        "import sluice.cli",
        "from sluice.cli import main; main(['--help'])",
    ],
)
def test_the_start_imports_nothing_heavy(script):
    """Start-up time, held by what is imported instead of by a clock."""
    assert [] == imported_by(script, ("pydantic", *HEAVY))


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["version"], ["--version"]])
def test_the_help_and_the_version_need_no_parser_and_no_command(words):
    """Typer and all commands take four times as long to import as these take to print."""
    heavy = ("typer", "click", "pydantic", "sluice.cli.application", "sluice.cli.commands")

    assert [] == imported_by(f"from sluice.cli import main; main({words})", heavy)


@pytest.mark.parametrize("words", ["version", "simulat"])
def test_what_answers_at_once_imports_little(words):
    """Typer itself reads flags with pydantic, once there is a verb."""
    assert [] == imported_by(f"from sluice.cli import main; main([{words!r}])")


@pytest.mark.parametrize("words", [["version"], ["validate", EXAMPLE]])
def test_a_command_is_imported_without_the_others(words):
    """All commands together take as long to import and to build as Typer itself."""
    others = [f"sluice.cli.commands.{module}" for module in {*COMMANDS.values()} - {"validate"}]

    assert [] == imported_by(f"from sluice.cli import main; main({words})", others)


def test_validate_imports_no_past_runs_and_no_engine():
    """Code that predicts, runs and draws is for other commands, and for files that ask for it."""
    heavy = (
        "numpy", "pandas", "sqlalchemy", "sqlite3", "sluice.bootstrap.history.profiles",
        "sluice.bootstrap.setting_owners", "sluice.planning", "sluice.policies.composing",
        "sluice.engines.mapreduce", "sluice.estimate.forecast", "sluice.reporting.prediction",
        "sluice.simulation.driver", "sluice.store",
    )  # fmt: skip

    assert [] == imported_by(f"from sluice.cli import main; main(['validate', {EXAMPLE!r}])", heavy)


def test_a_prediction_by_name_imports_no_reader_of_workload_files():
    """The shapes of such a file take 0.1 s to import."""
    heavy = ("sluice.ingest.builder", "sluice.bootstrap.setting_owners")

    assert [] == imported_by("from sluice.cli import main; main(['predict', 'etl'])", heavy)


def test_help_imports_no_workloads_and_no_policies():
    """It needs the names and texts of options alone."""
    heavy = (
        "sluice.model.workload", "sluice.bootstrap", "sluice.core",
        "typer.rich_utils", "markdown_it", "pygments", "rich.traceback",
    )  # fmt: skip

    assert [] == imported_by("from sluice.cli import main; main(['--help'])", heavy)


def test_the_help_in_a_pipe_has_the_width_of_a_terminal():
    shown = sluice_process("--help", unset=["COLUMNS"]).out

    assert {80} == {len(line) for line in shown.splitlines() if line.startswith("│")}
    for name in COMMANDS:
        assert f"\n│ {name} " in shown


def test_each_command_is_found_in_its_module():
    app = with_all_commands()
    homes = {
        command.name or command.callback.__name__: command.callback.__module__.rpartition(".")[2]
        for command in app.registered_commands
    }
    groups = {group.name: group.name for group in app.registered_groups}

    assert homes | groups == COMMANDS


def test_the_help_has_the_texts_of_the_commands_and_of_their_group():
    """They are written twice, so that the page needs no import of the commands."""
    group = get_command(with_all_commands())
    context = group.make_context("sluice", ["version"])
    texts = {
        name: group.get_command(context, name).help.split("\n\n")[0] for name in group.commands
    }
    options = [
        (*sorted(one.opts, key=len, reverse=True), one.help) for one in group.get_params(context)
    ]

    assert texts == panels.SUMMARIES
    assert options == [tuple(filter(None, option)) for option in panels.OPTIONS]
    assert group.get_usage(context) == panels.USAGE
    assert (group.help, group.epilog) == (panels.DESCRIPTION, panels.EPILOG)


@pytest.mark.parametrize("words", [["--help", "--version"], ["-h", "simulate"]])
def test_the_help_is_the_same_where_typer_has_parsed_the_options(words):
    assert sluice(*words).out.strip() == sluice("--help").out.strip()


def test_the_help_has_one_order_whatever_was_imported_before():
    def shown(before):
        script = f"from sluice.cli import _command\n{before}\nprint(*_command().commands)"
        return subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=True
        ).stdout

    assert b"run page mcp submit jobs kill link queue cordon steer why" in shown("")
    assert shown("") == shown("_command('version'); _command('plan')")


def test_words_are_completed():
    asked = {"_SLUICE_COMPLETE": "complete_bash", "COMP_WORDS": "sluice v", "COMP_CWORD": "1"}
    answer = sluice_process(env=asked)

    assert (0, ["validate", "version"]) == (answer.code, answer.out.split())


def test_the_guard_sees_what_is_heavy():
    assert {"yaml", "sluice.simulation"} <= {*imported_by("import sluice.api.simulate")}


def test_the_console_answers_as_in_process(tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL)
    answer = sluice_process("simulate", "small.yaml", "--json", cwd=tmp_path)

    assert (0, "") == (answer.code, answer.err)
    assert 50.0 == json.loads(answer.out)["makespan_s"]


def test_the_same_run_in_two_processes_has_the_same_digest(tmp_path):
    words = ["simulate", "-", "--json", "--set", "jitter=0.2", "--tasks", "fair"]
    answers = [
        sluice_process(*words, input=SMALL, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2")
    ]

    assert answers[0] == answers[1]


def test_an_unknown_verb_is_one_message():
    answer = sluice_process("simulat", "x.yaml")

    assert (2, "") == (answer.code, answer.out)
    assert answer.err == "sluice: unknown command 'simulat'. Did you mean simulate?\n"


def test_an_unknown_verb_like_no_other_is_one_short_line():
    """All verbs in the message made a line of 363 columns."""
    answer = sluice_process("q" * 300)

    assert (2, "") == (answer.code, answer.out)
    assert answer.err.endswith("`sluice --help` lists the commands.\n")
    assert len(answer.err) <= 120


def test_python_without_assertions_is_refused():
    answer = sluice_process("version", flags=["-O"])

    assert (2, "") == (answer.code, answer.out)
    assert "without -O" in answer.err


def test_a_reader_that_leaves_early_gets_no_complaint():
    """As in `sluice schema | head -1`."""
    command = [sys.executable, "-m", "sluice", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        complaint = process.stderr.read()

    assert b"" == complaint
    assert 141 == process.returncode


def test_a_full_disk_behind_stdout_is_shown():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sluice", "version"],
            stdout=full, stderr=subprocess.PIPE, check=False, text=True,
        )  # fmt: skip

    assert 3 == done.returncode
    assert "No space left" in done.stderr
    assert 1 == done.stderr.count("\n")


@pytest.mark.parametrize(("out", "code"), [("full", 3), (None, 0)])
def test_a_full_disk_behind_stderr_does_not_turn_the_answer_into_a_no(out, code, tmp_path):
    """Python's own exit code is then 1, which is a true "no" here. The job is late: a note."""
    (tmp_path / "small.yaml").write_text(SMALL)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sluice", "simulate", str(tmp_path / "small.yaml")],
            stdout=full if out else subprocess.PIPE, stderr=full, check=False, text=True,
        )  # fmt: skip

    assert code == done.returncode
    assert out or "makespan" in done.stdout


def test_a_full_disk_under_a_file_names_the_file():
    """The system does not name the file of a failed write."""
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        Files(out="/dev/full").save_out("text")


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_streams_do_no_harm(closed):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m sluice validate - {closed}>&-', sys.executable],
        input=SMALL, capture_output=True, check=False, text=True,
    )  # fmt: skip

    assert (2 if closed == 0 else 0) == done.returncode
    assert "Traceback" not in done.stderr


def test_a_terminal_of_few_letters_shows_what_it_can():
    answer = sluice_process("simulate", "-", input=SMALL, env={"PYTHONIOENCODING": "ascii"})

    assert 0 == answer.code
    assert "done, late" in answer.out


# --- real runs ------------------------------------------------------------------------------------


def test_a_run_shows_what_it_did_and_is_not_done_twice(tmp_path):
    (tmp_path / "in.txt").write_text("b\na\n")
    (tmp_path / "words.yaml").write_text(WORDS)

    first = sluice_process("run", "words.yaml", "--json", cwd=tmp_path)
    said = json.loads(first.out)

    assert 0 == first.code
    assert "done" == said["jobs"]["words"]["state"]
    assert {"predicted_makespan_s", "measured", "outputs", "run_id"} <= {*said}
    assert (
        "run " + said["run_id"] in sluice_process("run", "words.yaml", "--resume", cwd=tmp_path).out
    )
    assert "words ended at " in sluice_process("why", "words", cwd=tmp_path).out
    again = sluice_process("run", "words.yaml", cwd=tmp_path)
    assert (2, "") == (again.code, again.out)
    assert "exists" in again.err


def test_a_failed_job_is_a_true_no(tmp_path):
    (tmp_path / "in.txt").write_text("b\na\n")
    (tmp_path / "words.yaml").write_text(WORDS.replace("mapper: cat", "mapper: 'false'"))

    answer = sluice_process("run", "words.yaml", cwd=tmp_path)

    assert 1 == answer.code
    assert "1 failed" in answer.out
    assert "failed 4 times" in sluice_process("why", "words", cwd=tmp_path).out


def test_an_interrupted_run_says_how_to_go_on(tmp_path, home):
    (tmp_path / "in.txt").write_text("b\na\n")
    (tmp_path / "words.yaml").write_text(WORDS.replace("mapper: cat", "mapper: 'sleep 60'"))
    command = [sys.executable, "-m", "sluice", "run", "words.yaml"]

    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | PLAIN,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for(lambda: "map begins" in sluice_process("story", "words", cwd=tmp_path).out)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (130, "") == (process.returncode, out)
    assert "--resume" in err
    assert "Traceback" not in err


def wait_for(happened, seconds=60.0):
    """Until it has happened, or the test has failed."""
    gives_up_at = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < gives_up_at
        time.sleep(0.05)
