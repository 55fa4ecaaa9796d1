"""`sluice COMMAND FILE` works the same however FILE is given: by any path, a symlink or stdin.

A run is killed in the middle, resumed, and its output compared with that of a run that nothing
interrupted. The job's files are named relative to the workload file, as users do it.
"""

import json
import signal
from typing import NamedTuple

import pytest
from tests.effort import first_of
from tests.live.command_line import Place, awaited
from tests.live.recorded_lives import lives_of

# Counts words; at a line that says "wait" it waits for a file named `go`.
COUNT_SH = """\
while read -r line; do
  [ "$line" != wait ] || while [ ! -e go ]; do sleep 0.02; done
  for word in $line; do printf '%s\\t1\\n' "$word"; done
done
"""
MAPS = 4  # one of them waits


class Form(NamedTuple):
    """A way to give FILE. cwd: relative to the place's folder.  is_stdin: the text, not a name."""

    file: str
    cwd: str = "job"
    is_stdin: bool = False


FORMS = {
    "relative": Form("jobs.json"),
    "dot": Form("./jobs.json"),
    "detour": Form("../job/in/../jobs.json"),
    "absolute": Form("{folder}/job/jobs.json"),
    "subfolder": Form("job/jobs.json", cwd="."),
    "sibling": Form("../job/jobs.json", cwd="other"),
    "absolute-from-elsewhere": Form("{folder}/job/jobs.json", cwd="other"),
    "linked-file": Form("linked.json", cwd="other"),
    "linked-file-absolute": Form("{folder}/other/linked.json"),
    "linked-folder": Form("linked/jobs.json", cwd="other"),
    "linked-working-folder": Form("jobs.json", cwd="other/linked"),
    "dev-stdin": Form("/dev/stdin", is_stdin=True),
    "stdin": Form("-", is_stdin=True),
}
SAME_FILE = [name for name, form in FORMS.items() if not form.is_stdin]
STREAMS = [name for name, form in FORMS.items() if form.is_stdin]
QUICK = {"relative", "stdin"}
# A path below the folder, one from elsewhere, a link to the file, and one to its folder come first.
PROFILED = sorted(FORMS, key=lambda name: name not in {*QUICK, "linked-working-folder"})
NUMBERS = sorted(range(len(SAME_FILE)), key=lambda number: number not in {4, 7, 9, 10})


def marked_slow(names):
    """The quick ones run always, the others with all slow tests."""
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


class Journey(Place):
    """The files of one job in `job`; links to them in `other`."""

    def __init__(self, folder):
        super().__init__(folder)
        self.file = folder / "job" / "jobs.json"
        self.write_input("job/in", "one two\n", "two\nwait\n", "three one\n", "three\nthree\n")
        (folder / "job" / "count.sh").write_text(COUNT_SH)
        run = {
            "input": ["in/file-*"],
            "output": "out/words",
            "mapper": "sh count.sh",
            "reducer": "uniq -c",
        }
        self.write([{"id": "words", "reduces": {"tasks": 2}, "run": run}])
        (folder / "other").mkdir()
        (folder / "other" / "linked.json").symlink_to("../job/jobs.json")
        (folder / "other" / "linked").symlink_to("../job")

    def given(self, form, *words, **more):
        """Start `sluice WORDS`, with FILE in the form in place of the word FILE."""
        file = form.file.format(folder=self.folder)
        given = [file if word == "FILE" else word for word in words]
        with self.file.open("rb") as content:
            stdin = content if form.is_stdin else None
            return self.started(*given, cwd=self.folder / form.cwd, stdin=stdin, **more)

    def answered(self, form, *words):
        """(exit code, stdout, stderr) of it."""
        process = self.given(form, *words)
        heard, complained = process.communicate(timeout=120)
        return process.returncode, heard, complained

    def killed(self, form, number=signal.SIGKILL):
        """A run in which a map waits, ended by a signal."""
        process = self.given(form, "run", "FILE")
        awaited(lambda: self.finished() == MAPS - 1 or process.poll() is not None, "three maps")
        assert process.poll() is None, process.communicate()
        process.send_signal(number)
        process.communicate()
        assert self.processes_left() == {}

    def finished(self):
        return len(lives_of(self.runs[-1]).finished) if self.runs else 0

    def let_go(self):
        (self.folder / "job" / "go").touch()


@pytest.fixture
def journey(tmp_path):
    return Journey(tmp_path)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The output of a run by absolute path that nothing interrupts."""
    journey = Journey(tmp_path_factory.mktemp("uninterrupted"))
    journey.let_go()
    code, _, complained = journey.answered(FORMS["absolute"], "run", "FILE")
    assert code == 0, complained
    return journey.outputs("job/out")


@pytest.mark.parametrize("name", marked_slow(["relative", "linked-working-folder", *STREAMS]))
def test_a_run_begins_and_is_explained(journey, uninterrupted, name):
    journey.let_go()
    code, heard, complained = journey.answered(FORMS[name], "run", "FILE", "--json")

    assert code == 0, complained
    assert journey.outputs("job/out") == uninterrupted
    assert json.loads(heard)["outputs"] == {"words": str(journey.folder / "job/out/words")}
    for words in (("why", "words"), ("story", "words"), ("runs", "show", journey.runs[0].name)):
        assert journey.sluice(*words)[0] == 0


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("relative", signal.SIGKILL),
        ("stdin", signal.SIGINT),
        pytest.param("dev-stdin", signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_a_killed_run_is_resumed(journey, uninterrupted, name, number):
    journey.killed(FORMS[name], number)
    journey.let_go()
    code, heard, complained = journey.answered(FORMS[name], "run", "FILE", "--resume", "--json")

    assert code == 0, complained
    assert not json.loads(heard)["was_finished"]
    check_resumed(journey, uninterrupted)


def check_resumed(journey, uninterrupted):
    """One run with two lives, that did nothing twice and made the right output."""
    (run,) = journey.runs
    assert lives_of(run).epochs == 2
    assert lives_of(run).rerun == []
    assert journey.outputs("job/out") == uninterrupted
    assert journey.remains() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", first_of(NUMBERS, 4))
def test_a_run_is_resumed_by_another_name_of_the_same_file(journey, uninterrupted, number):
    """In a thorough run each name starts once and resumes once."""
    first, second = SAME_FILE[number], SAME_FILE[number - 1]
    journey.killed(FORMS[first])
    journey.let_go()
    code, heard, complained = journey.answered(FORMS[second], "run", "FILE", "--resume", "--json")

    assert code == 0, complained
    assert json.loads(heard)["outputs"] == {"words": str(journey.folder / "job/out/words")}
    check_resumed(journey, uninterrupted)


def test_a_finished_run_is_reported_by_another_name_of_the_same_file(journey):
    journey.let_go()
    assert journey.answered(FORMS["relative"], "run", "FILE")[0] == 0
    code, heard, _ = journey.answered(FORMS["linked-file"], "run", "FILE", "--resume", "--json")

    assert (code, json.loads(heard)["was_finished"]) == (0, True)


def test_standard_input_of_another_folder_is_another_workload(journey):
    """Its relative paths mean other files there, so it must not resume this run."""
    journey.killed(FORMS["stdin"])
    journey.let_go()
    elsewhere = Form("-", cwd="other", is_stdin=True)
    code, _, complained = journey.answered(elsewhere, "run", "FILE", "--resume")

    assert code == 2
    assert str(journey.folder / "other") in complained, "its input is looked for there"
    assert len(journey.runs) == 1


def test_a_run_by_file_is_not_resumed_by_standard_input(journey):
    """A stream has no path: nothing says that it is the same file."""
    journey.killed(FORMS["relative"])
    journey.let_go()
    code, _, complained = journey.answered(FORMS["stdin"], "run", "FILE", "--resume")

    assert code == 0, complained
    assert len(journey.runs) == 2


@pytest.mark.slow
@pytest.mark.parametrize("words", ["<(cat jobs.json)", "/dev/stdin <<< $(cat jobs.json)"])
def test_a_stream_of_the_shell_is_read_from_the_working_directory(journey, uninterrupted, words):
    """The path of a pipe leads to nothing that could be found again."""
    journey.let_go()
    shell = ["bash", "-c", f'"$@" {words}', "bash"]
    process = journey.started("run", before=shell, cwd=journey.folder / "job")
    _, complained = process.communicate(timeout=120)

    assert process.returncode == 0, complained
    assert journey.outputs("job/out") == uninterrupted


@pytest.mark.parametrize("name", marked_slow(first_of(PROFILED, 3)))
def test_a_profile_run_finds_its_files(journey, name):
    journey.let_go()
    code, heard, complained = journey.answered(
        FORMS[name], "profile-run", "FILE", "--slots", "2", "--json"
    )

    assert code == 0, complained
    assert "words" in heard
    assert not (journey.folder / "job" / "out").exists()
