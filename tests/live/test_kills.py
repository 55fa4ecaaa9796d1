"""`kill -9` at any moment of a live run: nothing is lost or done twice, and the end is the same.

Ten seeds of ten kills and more each (one of four in a run that is not thorough); a seed that fails
is repeated by the command that it prints.
"""

import random

import pytest
from tests.effort import IS_THOROUGH, first_of
from tests.live.chaos import Chaos
from tests.live.command_line import Place
from tests.live.four_jobs import JOBS, overlaps, write_four_jobs
from tests.live.recorded_lives import lives_of
from tests.skips import required

KILLS = 10 if IS_THOROUGH else 4  # for each seed
KILLS_MAX_PER_RUN = 6
# Of the driver of the third job alone: the record of the run and its copy in the staging folder,
# the journal and its head, four part files, the output.
RENAMINGS = 9

pytestmark = pytest.mark.timeout(600)


class Undisturbed:
    """The results of jobs that run undisturbed."""

    def __init__(self, folder, jobs):
        self.jobs = jobs
        place = Place(folder)
        write_four_jobs(place, jobs)
        code, _, complained = place.run()
        assert code == 0, complained
        self.outputs = place.outputs()
        self.tasks = sorted(lives_of(place.runs[0]).finished)


def check_the_end(chaos, undisturbed):
    """Check all that must hold of a run that is over, whatever happened to it."""
    place = chaos.place
    (run,) = place.runs
    lives = lives_of(run)
    assert place.outputs() == undisturbed.outputs, chaos.log
    assert place.remains() == [], chaos.log
    assert chaos.agents_struck or not lives.nodes_lost, chaos.log
    assert lives.ends == [], chaos.log
    assert lives.rerun == [], chaos.log
    assert overlaps(place) == [], chaos.log
    if not lives.nodes_lost:  # else maps are made again, and there is more than one of some
        assert sorted(lives.finished) == undisturbed.tasks, chaos.log


def check_nothing_changes(place):
    """A run that is over is shown so."""
    before = {path: path.stat().st_mtime_ns for path in place.folder.rglob("*") if path.is_file()}
    before = {path: at_ns for path, at_ns in before.items() if place.home not in path.parents}
    code, document = place.document("--resume")
    assert (code, document["was_finished"]) == (0, True)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def killed_runs(folder, jobs, seed, kills):
    """Runs that end, one after the other, until there were so many kills."""
    rng = random.Random(seed)
    while kills > 0:
        place = Place(folder / f"run-{len(list(folder.iterdir()))}")
        write_four_jobs(place, jobs)
        chaos = Chaos(place, rng)
        chaos.run(min(kills, rng.randint(1, KILLS_MAX_PER_RUN)))
        kills -= chaos.kills
        yield chaos


def check_seed(request, folder, undisturbed, seed):
    """All that is claimed, for one seed."""
    # pytest shows what was printed only where the test fails.
    print(f"to repeat: python -m pytest '{request.node.nodeid}'")  # noqa: T201  # as said above
    for chaos in killed_runs(folder, undisturbed.jobs, seed, KILLS):
        check_the_end(chaos, undisturbed)
        check_nothing_changes(chaos.place)


@pytest.mark.slow
def test_kills_lose_nothing_and_do_nothing_twice(request, tmp_path, tmp_path_factory):
    """Without mrjob, which takes long to load."""
    undisturbed = Undisturbed(tmp_path_factory.mktemp("undisturbed"), JOBS[:3])
    check_seed(request, tmp_path, undisturbed, seed=20_011)


@pytest.mark.slow
def test_a_run_killed_at_each_renaming_comes_to_the_same_end(tmp_path, tmp_path_factory):
    """Renaming is how output is handed over and committed: no step of it may count twice."""
    undisturbed = Undisturbed(tmp_path_factory.mktemp("undisturbed"), JOBS[2:3])
    for number in range(1, RENAMINGS + 2):
        place = Place(tmp_path / str(number))
        write_four_jobs(place, undisturbed.jobs)
        chaos = Chaos(place, random.Random(number))
        assert chaos.live_until("os.rename", number) == (-9 if number <= RENAMINGS else 0)
        chaos.run(kills_max=0)
        check_the_end(chaos, undisturbed)


@pytest.fixture(scope="module")
def four_undisturbed(tmp_path_factory):
    """All four jobs."""
    required("mrjob")
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"), JOBS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", first_of([1, 0, *range(2, 10)], 1))
def test_many_kills_lose_nothing_and_do_nothing_twice(request, tmp_path, four_undisturbed, seed):
    check_seed(request, tmp_path, four_undisturbed, seed=seed)
