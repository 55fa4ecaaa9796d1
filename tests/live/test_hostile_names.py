"""Ids, paths and file names as bad as they may be: they are data, wherever they come to stand."""

import json
import os
import shutil

import pytest
from tests.live.command_line import Place
from tests.skips import skip

IDS = (
    "../../../escape", "-rf", "--json", "a b'c\"d", "häßlich/日本", ".", "..", "$(touch pwned)",
    "%s%n{0}", "a" * 200, "A" * 199 + "b", "[red]x[/red]", "*", "con\\n",
)  # fmt: skip
PATHS = (
    "out/with blank", "out/'quoted' \"twice\"", "out/-rf", "out/two\nlines", "out/*?[a]",
    "out/" + "/".join("deep" for _ in range(60)), "out/" + "n" * 250, "-out", "./out/dots/../x",
    "out/.hidden", "out/日本",
)  # fmt: skip


def copying(job_id, source, output, mapper="cat", **more):
    return {"id": job_id, "run": {"input": [source], "output": output, "mapper": mapper, **more}}


def test_no_id_becomes_a_path_or_an_option(tmp_path):
    place = Place(tmp_path / "inside")
    place.folder.mkdir()
    place.write_input("in", "one\n", "two\n")
    jobs = [copying(job_id, "in", f"out/{n}", reducer="cat") for n, job_id in enumerate(IDS)]
    place.write(jobs)
    code, document = place.document()

    assert code == 0
    assert list(document["jobs"]) == list(IDS)
    for number, job_id in enumerate(IDS):
        assert place.lines(f"out/{number}") == [b"one", b"two"], job_id
    assert place.remains() == []
    assert {path.name for path in tmp_path.iterdir()} == {"inside"}
    assert {path.name for path in place.folder.iterdir()} == {"home", "in", "jobs.json", "out"}
    for job_id in ("-rf", "../../../escape", "[red]x[/red]"):
        assert "first job in the queue" in place.story(job_id)


def test_paths_are_taken_as_they_stand(tmp_path):
    place = Place(tmp_path / '-in side\'s "home"\n*')
    place.folder.mkdir()
    for name in ("-n", "new\nline", "it's", "a b", "back\\slash", "[x]"):
        place.write_input(f"in put/{name}", f"{name!r}\n")
    deep = "/".join(["in put", *(["deeper"] * 60)])
    place.write_input(deep, "deep\n")
    sources = ["in put/-n", "in put/new\nline", "in put/it's/file-0", "in put/a b", deep,
               "in put/back\\slash", "in put/[x]"]  # fmt: skip
    jobs = [copying(f"job {n}", "in put/a b", path) for n, path in enumerate(PATHS)]
    place.write([*jobs, copying("all", "in put/-n", "out/all")])
    jobs[0]["run"]["input"] = sources
    place.write(jobs)
    code, document = place.document()

    assert code == 0
    wanted = [b"'-n'", rb"'new\nline'", b'"it\'s"', b"'a b'", b"deep", rb"'back\\slash'", b"'[x]'"]
    assert place.lines(PATHS[0]) == wanted
    for path in PATHS[1:]:
        assert place.lines(path) == [b"'a b'"], path
        assert (place.folder / path / "_SUCCESS").is_file()
    assert document["states"] == {"done": len(PATHS)}
    assert place.remains() == []


def test_a_program_is_found_whatever_its_path_is_like(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", "one\n")
    program = tmp_path / "my 'own' -x.sh"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\nexec cat\n')
    program.chmod(0o755)
    mapper = """./"my 'own' -x.sh" '' '$HOME' "a  b" '*' -- '-n'"""
    place.write([copying("program", "in", "out/program", mapper)])
    code, _ = place.document()

    assert code == 0
    assert place.lines("out/program") == [b"|$HOME|a  b|*|--|-n|one"]


def test_a_workload_file_may_be_called_anything(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", "one\n")
    place.write([copying("a", "in", "out/a")])
    place.file = place.file.rename(tmp_path / "-w 'x'\n.json")
    code, _, complained = place.sluice("run", "--", place.file.name)

    assert code == 0, complained
    assert place.lines("out/a") == [b"one"]
    assert place.run("--resume")[0] == 0


@pytest.mark.parametrize(
    ("job", "named"),
    [
        (copying("two\nlines", "in", "out/a"), "id"),
        (copying("nul\0", "in", "out/a"), "id"),
        (copying("a", "nowhere/*", "out/a"), "nowhere/*"),
        (copying("a", "pipe", "out/a"), "pipe"),
        (copying("a", "in", "in"), "in"),
        (copying("a", "in", "out/a", "no-such-program-at-all"), "no-such-program-at-all"),
        (copying("a", "in", "out/a", "./jobs.json"), "./jobs.json"),
        (copying("a", "in", "out/a", "cat 'open"), "mapper"),
        (copying("a", "in", "nul\0"), "output"),
        (copying("a", "in", ".."), ".."),
        (copying("a", "in", "out/a", env={"A": "b\0c"}), "env"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_does(tmp_path, job, named):
    """Named with its job, in one message, and without a trace in the state folder."""
    place = Place(tmp_path)
    place.write_input("in", "one\n")
    os.mkfifo(tmp_path / "pipe")
    place.write([copying("good", "in", "out/good"), job])
    code, heard, complained = place.run()

    assert (code, heard) == (2, ""), complained
    assert named in complained
    assert "Traceback" not in complained
    assert not (tmp_path / "out").exists()
    assert place.runs == []


def without_privilege():
    """Words before a command that take from root what would let it pass over file modes."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        skip("setpriv is not installed here to take from root what lets it read everything")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def test_input_that_may_not_be_read_is_refused(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", "one\n", "two\n")
    (tmp_path / "in" / "file-1").chmod(0)
    place.write([copying("a", "in", "out/a")])
    code, heard, complained = place.run(before=without_privilege())

    assert (code, heard) == (2, "")
    assert "file-1" in complained
    assert "cannot be read" in complained


@pytest.mark.parametrize("obstacle", ["chmod 500 closed", "rmdir closed && echo > closed"])
def test_an_output_that_cannot_be_written_any_more_fails_its_job_only(tmp_path, obstacle):
    """An obstacle that is there beforehand is refused before anything runs."""
    place = Place(tmp_path)
    place.write_input("in", "one\n")
    (tmp_path / "closed").mkdir(mode=0o700)
    late = copying("bad", "in", "closed/out") | {"submitted_at_s": 1.0}
    obstructing = f"sh -c 'cd {tmp_path} && {obstacle} && cat'"
    place.write([late, copying("good", "in", "out/good", obstructing)])
    code, heard, complained = place.run("--json", before=without_privilege())

    assert code == 1, complained
    document = json.loads(heard)
    assert document["states"] == {"failed": 1, "done": 1}
    assert "closed" in document["jobs"]["bad"]["reason"]
    assert place.lines("out/good") == [b"one"]
    assert place.remains() == []
