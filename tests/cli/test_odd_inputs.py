"""Uses that are one step away from the documents: odd folders, names, values and terminals."""

import errno
import json
import os
import re
from pathlib import Path

import pytest
from tests.cli.terminal import PLAIN, SMALL, sluice, sluice_process

import sluice as api

RUN = {"input": ["in"], "output": "out", "mapper": "cat", "reducer": "cat"}
HOUR = {"tasks": 4, "avg_s": 900}


def workload(**run):
    """A file with one real job, in the working directory."""
    job = {"id": "words", "run": RUN | run}
    cluster = {"map_slots": 2, "reduce_slots": 1}
    return written("run.json", {"cluster": cluster, "jobs": [job]})


def written(name, document):
    Path(name).write_text(json.dumps({"version": 1} | document), encoding="utf-8")
    return name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("b\na\n")
    return tmp_path


# --- the state folder -----------------------------------------------------------------------------


@pytest.fixture(params=["a file", "a link to nowhere"])
def unusable(request, folder, home):
    if request.param == "a file":
        home.touch()
    else:
        home.symlink_to(folder / "nowhere" / "deeper")
    return home


@pytest.mark.parametrize("words", [["run", "run.json"], ["runs"], ["why", "words"], ["profiles"]])
def test_an_unusable_state_folder_is_reported_once(words, unusable):
    workload()
    answer = sluice(*words)

    assert (3, "") == (answer.code, answer.out)
    assert 1 == answer.err.count(str(unusable)), answer.err
    assert "Not a directory" in answer.err
    assert not os.path.lexists("out")


def test_a_store_that_cannot_be_read_is_reported_once_by_a_run(folder, home):
    home.mkdir(mode=0o700)
    (home / "profiles.db").write_bytes(b"no database" * 999)
    answer = sluice("run", workload())

    assert 0 == answer.code
    assert 1 == answer.err.count("past runs are not used"), answer.err


@pytest.mark.parametrize(
    "words", [["why", "--file", "run.json", "words"], ["story", "--file", "run.json", "words"]]
)
def test_a_note_about_the_store_ends_in_one_period(words, folder, home):
    home.mkdir(mode=0o700)
    (home / "profiles.db").write_bytes(b"no database" * 999)
    workload()
    answer = sluice(*words)

    assert "note: past runs are not used" in answer.err
    assert "Name another store meanwhile.\n" in answer.err
    assert ".." not in answer.err


# --- the workload file ----------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["simulate", ""], ["validate", ""], ["run", ""]])
def test_an_empty_path_is_called_empty(words, folder):
    answer = sluice(*words)

    assert (2, "FILE: the path is empty. Name a workload file.\n") == (answer.code, answer.err)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"cluster": {"node_groups": []}}, "cluster.node_groups"),
        ({"jobs": [{"id": "words", "run": RUN | {"input": []}}]}, "run.input"),
        ({"jobs": [{"id": "words", "run": RUN | {"output": ""}}]}, "run.output"),
    ],
)
def test_an_empty_value_is_called_empty(document, field, folder):
    answer = sluice("validate", written("empty.json", document))

    assert 2 == answer.code
    assert f"{field} is empty. Give " in answer.err


@pytest.mark.parametrize("field", ["pool", "customer"])
@pytest.mark.parametrize(
    ("name", "problem"), [("", "has 0 characters"), ("a\nb", "holds the control character")]
)
def test_a_name_that_is_none_is_refused_with_its_place(name, problem, field, folder):
    jobs = [{"id": "words", "maps": HOUR, field: name}]
    answer = sluice("validate", written("names.json", {"jobs": jobs}))

    assert 2 == answer.code
    assert f'names.json line 1, job "words": {field} ' in answer.err
    assert problem in answer.err


def test_one_task_is_a_task(folder):
    job = {"id": "words", "maps": HOUR, "reduces": HOUR | {"tasks": 1}}
    answer = sluice("simulate", written("one.json", {"cluster": {"map_slots": 2}, "jobs": [job]}))

    assert "job 'words' has 1 reduce task, and reduce_slots of the cluster is 0." in answer.err


# --- settings and options -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [["--tasks=ltyarn", "--set=ltyarn.round_s="], ["--release=mrorder", "--set=mrorder.jobs_max="]],
)
def test_a_setting_without_a_value_is_switched_off_where_it_can_be(words, small):
    plain, emptied = (sluice("simulate", small, "--json", *more) for more in (words[:1], words))

    assert 0 == emptied.code, emptied.err
    assert json.loads(plain.out)["digest"] == json.loads(emptied.out)["digest"]
    assert 2 == sluice("simulate", small, "--set=heartbeat_s=").code


def test_a_setting_that_is_no_text_is_unknown(small):
    with pytest.raises(api.InvalidInput, match="unknown setting 1"):
        api.simulate(small, settings={1: 2})  # type: ignore[dict-item]  # what a user may pass


def test_reduces_without_a_reducer_are_reported(folder):
    cluster = {"map_slots": 2, "reduce_slots": 1}
    for number, reduces in enumerate([{"tasks": 4}, {"tasks": 0}]):
        run = RUN | {"reducer": None, "output": f"out-{number}"}
        jobs = [{"id": "words", "run": run, "reduces": reduces}]
        answer = sluice("run", written("maps.json", {"cluster": cluster, "jobs": jobs}))

        assert 0 == answer.code, answer.err
        note = "note: `reduces` of job 'words' has no effect without a reducer."
        assert (number == 0) == (note in answer.err), answer.err
        assert ["part-00000"] == [path.name for path in folder.glob(f"out-{number}/part-*")]


def test_a_run_takes_settings_as_a_simulation_does(folder):
    file = workload()
    given = {"slowstart": 0.5, "speculation": "late", "kill_slow": False}
    result = api.run(file, settings=given)
    same = [f"--set={text}" for text in ("slowstart=0.5", "speculation=late", "kill_slow=false")]

    assert "done" == result.jobs[0].state
    assert "no effect" not in sluice("run", file, "--resume", *same).err
    with pytest.raises(api.InvalidInput, match="Did you mean slowstart"):
        api.run(file, settings={"slowstrat": 0.5})


def test_options_that_a_resumed_run_does_not_keep_are_named(folder):
    file = workload()
    assert 0 == sluice("run", file, "--seed=3").code
    same, other = (
        sluice("run", file, "--resume", *more)
        for more in (["--seed=3"], ["--seed=4", "--tasks=fair", "--set=task_failure=0.1"])
    )

    assert (0, 0) == (same.code, other.code)
    assert "no effect" not in same.err
    assert ["--tasks", "--set", "--seed"] == re.findall(r"note: (\S+) has no effect", other.err)


# --- inputs and outputs of runs -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("in/a.txt/out", "in/a.txt' is not a folder"),
        (f"out/{'x' * 256}", "a name in it has more than 255 bytes"),
        (f"out/{'é' * 128}/out", "a name in it has more than 255 bytes"),
    ],
)
def test_an_output_that_cannot_be_made_is_refused_before_anything_runs(output, problem, folder):
    answer = sluice("run", workload(output=output))

    assert (2, "") == (answer.code, answer.out)
    assert problem in answer.err
    assert sorted(path.name for path in folder.iterdir()) == ["in", "run.json"]


def test_an_output_where_the_user_may_not_write_is_refused(folder, monkeypatch):
    may = os.access

    def access(path, mode, **how):
        return mode != os.W_OK | os.X_OK and may(path, mode, **how)

    monkeypatch.setattr(os, "access", access)
    answer = sluice("run", workload())

    assert 2 == answer.code
    assert f"you may not write to '{folder}'" in answer.err


def test_a_folder_of_folders_is_not_read_as_an_empty_one(folder):
    (folder / "days").mkdir()
    (folder / "in").rename(folder / "days" / "monday")
    refused = sluice("run", workload(input=["days"]))
    hint = re.search(r"give '(.*)' for", refused.err, re.IGNORECASE)

    assert 2 == refused.code
    assert "has folders in it, and no file" in refused.err
    assert hint is not None
    assert 0 == sluice("run", workload(input=[hint[1]])).code
    assert (folder / "out" / "part-00000").read_text() == "a\nb\n"


MODULE = (
    "def mapper(line):\n    {}\n    yield line, 1\ndef reducer(key, values):\n    yield key, 1\n"
)


def python_job(folder, text):
    (folder / "words.py").write_text(text)
    return workload(python="words.py", mapper=None, reducer=None)


def test_a_module_that_ends_its_interpreter_is_refused(folder):
    answer = sluice("run", python_job(folder, "import os\nos._exit(0)\n"))

    assert (2, "") == (answer.code, answer.out)
    assert "its import ended with exit code 0" in answer.err


def test_a_module_may_start_a_program_that_prints(folder):
    answer = sluice("run", python_job(folder, f"import os\nos.system('echo {{}}')\n{MODULE}"))

    assert 0 == answer.code, answer.err


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("raise KeyboardInterrupt", "map raised KeyboardInterrupt (words.py:2)"),
        ("raise type('E', (Exception,), {'__str__': 3})", "map raised E: its text cannot be made"),
    ],
)
def test_any_exception_of_the_users_code_is_reported_without_ours(raised, said, folder):
    answer = sluice("run", python_job(folder, MODULE.format(raised)))

    assert 1 == answer.code
    assert said in answer.err
    assert "sluice/engines" not in answer.err


@pytest.mark.parametrize(
    ("names", "said"), [(["x.log"], "x.log has"), (["x.log", "y.log"], "x.log, y.log have")]
)
def test_a_folder_without_a_known_format_is_one_sentence(names, said, folder):
    for name in names:
        (folder / "in" / name).write_text("hello\n")
    (folder / "in" / "a.txt").unlink()
    answer = sluice("import", "in")

    assert 2 == answer.code
    assert f": {said} no known format. Give a log" in answer.err


@pytest.mark.parametrize("words", [["import"], ["explain"], ["predict", "--from-log"]])
def test_a_folder_of_logs_that_cannot_be_read_is_bad_input(words, folder, monkeypatch):
    def listed(path):
        if path.name == "in":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        yield from map(Path, os.listdir(path))  # noqa: PTH208  # the function in the test

    monkeypatch.setattr(Path, "iterdir", listed)  # root may list any folder
    answer = sluice(*words, "in")

    assert (2, "") == (answer.code, answer.out)
    assert "in: it cannot be read: Permission denied. Check the path." in answer.err


# --- terminals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "60", "80"])
@pytest.mark.parametrize(
    "name", ["nightly-load", "名前が長い仕事" * 9, "e\N{COMBINING ACUTE ACCENT}" * 60]
)
def test_a_row_of_an_order_keeps_number_and_name_on_one_line(name, columns, folder, monkeypatch):
    monkeypatch.setitem(PLAIN, "COLUMNS", columns)
    jobs = [{"id": f"{name}{number}", "maps": HOUR, "reduces": HOUR} for number in range(2)]
    cluster = {"map_slots": 4, "reduce_slots": 2}
    answer = sluice("order", written("wide.json", {"cluster": cluster, "jobs": jobs}))

    assert 0 == answer.code, answer.err
    assert re.search(rf"^ ?1  {name[:2]}", answer.out, re.MULTILINE), answer.out
    assert re.search(rf"^ ?2  {name[:2]}", answer.out, re.MULTILINE), answer.out


def test_a_terminal_of_few_letters_shows_the_parts_of_a_chart_apart():
    answer = sluice_process("order", "-", input=SMALL, env={"PYTHONIOENCODING": "ascii"})

    assert 0 == answer.code
    assert ". waiting  = maps  # reduces" in answer.out
    assert re.search(r"\|=+#+ +\|", answer.out), answer.out
    assert "?" not in answer.out
