"""`kill -9` at any moment of a live run: nothing done is lost or done twice, and the end is the same.

Ten seeds of ten kills and more each; a seed that fails is repeated by the command that it prints.
"""

import random

import pytest
from tests.live.chaos import Chaos
from tests.live.command_line import Place
from tests.live.four_jobs import overlaps, write_four_jobs
from tests.live.recorded_lives import lives_of

KILLS_MAX_PER_RUN = 6

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The output of the four jobs where nobody disturbs them."""
    pytest.importorskip("mrjob")
    place = Place(tmp_path_factory.mktemp("undisturbed"))
    write_four_jobs(place)
    code, _, complained = place.run()
    assert code == 0, complained
    return place.outputs()


def check_the_end(chaos, undisturbed):
    """What must hold of a run that is over, whatever befell it."""
    place = chaos.place
    (run,) = place.runs
    lives = lives_of(run)
    assert place.outputs() == undisturbed, chaos.log
    assert place.remains() == [], chaos.log
    assert lives.ends == [], chaos.log
    assert lives.rerun == [], chaos.log
    assert overlaps(place) == [], chaos.log
    if not lives.nodes_lost:
        assert len(lives.finished) == len(set(lives.finished)) == 23, chaos.log


def check_nothing_changes(place):
    """A run that is over is told so."""
    before = {path: path.stat().st_mtime_ns for path in place.folder.rglob("*") if path.is_file()}
    before = {path: at_ns for path, at_ns in before.items() if place.home not in path.parents}
    code, document = place.document("--resume")
    assert (code, document["was_finished"]) == (0, True)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def killed_runs(folder, seed, kills):
    """Runs that end, one after the other, until there were so many kills."""
    rng = random.Random(seed)
    while kills > 0:
        place = Place(folder / f"run-{len(list(folder.iterdir()))}")
        write_four_jobs(place)
        chaos = Chaos(place, rng)
        chaos.run(min(kills, rng.randint(1, KILLS_MAX_PER_RUN)))
        kills -= chaos.kills
        yield chaos


def check_seed(request, folder, undisturbed, seed, kills):
    """All that is claimed, for one seed."""
    print(f"to repeat: python -m pytest '{request.node.nodeid}'")
    for chaos in killed_runs(folder, seed, kills):
        print(chaos.kills, "kills:", chaos.log)
        check_the_end(chaos, undisturbed)
        check_nothing_changes(chaos.place)


def test_ten_kills_lose_nothing_and_do_nothing_twice(request, tmp_path, undisturbed):
    check_seed(request, tmp_path, undisturbed, seed=20_011, kills=10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_lose_nothing_and_do_nothing_twice(request, tmp_path, undisturbed, seed):
    check_seed(request, tmp_path, undisturbed, seed=seed, kills=10)
