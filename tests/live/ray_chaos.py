"""`kill -9` of a raylet, an agent, a node server or the driver in runs over embedded Ray clusters.

    python -m tests.live.ray_chaos --kills 30 --seed 1

Victims and moments come from the seed; a moment is a number of attempts that have begun, so that a
seed does much the same on any machine. A run whose driver was killed is resumed.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.live.command_line import Place, awaited, is_program, words_of
from tests.live.recorded_lives import lives_of

from sluice.engines.agent import kernel

FILES, REDUCES = 24, 4
KILLS_PER_RUN = 4
RUN_S_MAX = 240.0
LINES = "the quick brown fox jumps over the lazy dog and the end is near\n"
COMMAND_SH = """\
echo "$SLUICE_ATTEMPT" >> "$LOG"
sleep 0.3
"$@"
"""
JOBS = [
    {
        "id": "words",
        "reduces": {"tasks": REDUCES},
        "run": {
            "input": ["in"],
            "output": "out",
            "mapper": "sh command.sh tr ' ' '\\n'",
            "reducer": "sh command.sh uniq -c",
            "env": {"LOG": "log"},
        },
    }
]
CLUSTER = {"nodes": 3, "node": {"map_slots": 2, "reduce_slots": 1}}
RAY = ("--engine", "ray")


def written(folder, **settings):
    """A place with the job."""
    folder.mkdir(parents=True, exist_ok=True)
    place = Place(folder)
    place.write_input("in", *(LINES * 3 + f"file {number}\n" for number in range(FILES)))
    (folder / "command.sh").write_text(COMMAND_SH)
    place.write(JOBS, cluster=CLUSTER, settings=settings)
    return place


class RayChaos:
    """One run. kills: so far, by victim.  log: what was done, and how lives ended."""

    def __init__(self, place, rng):
        self.place = place
        self.kills: Counter[str] = Counter()
        self.log = []
        self._rng = rng
        self._driver = None

    def run(self, kills):
        """To the end of the run, with so many kills on the way."""
        victims = ["driver", "agent", "raylet", "node server"][:kills]
        victims += ["driver"] * (kills - len(victims))
        self._rng.shuffle(victims)
        self._live()
        try:
            for victim in victims:
                self._strike_when(self._begun() + self._rng.randint(1, FILES // KILLS_PER_RUN))
                self._strike(victim)
            self._await_end()
        finally:
            self.place.end()

    def check(self, wanted):
        """Check all that must hold of a run that is over. wanted: its output."""
        (run,) = self.place.runs
        lives = lives_of(run)
        assert self.place.outputs() == wanted, self.log
        assert self.place.remains() == [], self.log
        assert lives.ends == [], self.log
        assert lives.rerun == [], self.log
        if not lives.nodes_lost:
            assert len(lives.finished) == FILES + REDUCES, self.log
        return lives

    def _live(self):
        words = ("run", str(self.place.file), *RAY, "--resume")
        self._driver = self.place.started(*words)

    def _begun(self):
        log = self.place.folder / "log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def _strike_when(self, begun):
        """Wait until so many attempts have begun, or the run is over."""
        awaited(
            lambda: self._begun() >= begun or self._driver.poll() is not None,
            f"{begun} attempts",
            RUN_S_MAX,
        )

    def _strike(self, victim):
        if self._driver.poll() is not None:  # the run has ended before
            self.log.append(f"no {victim} to kill")
            return
        if victim == "driver":
            self._driver.kill()
            self._driver.communicate()
            self._live()
        else:
            found = [pid for pid in self.place.processes() if IS_VICTIM[victim](pid)]
            if not found:
                self.log.append(f"no {victim} to kill")
                return
            os.kill(self._rng.choice(sorted(found)), signal.SIGKILL)
        self.kills[victim] += 1
        self.log.append(victim)

    def _await_end(self):
        _, complained = self._driver.communicate(timeout=RUN_S_MAX)
        self.log.append(self._driver.returncode)
        assert self._driver.returncode == 0, (self.log, complained)
        assert self.place.processes_left() == {}, self.log


def _is_raylet(pid):
    """Not that of the head: without it there is no cluster."""
    words = words_of(pid, "cmdline")
    return is_program(words, b"raylet/raylet") and b"--head" not in words


IS_VICTIM = {
    "agent": lambda pid: kernel.process_name(pid) == "sluice-agent",
    "node server": lambda pid: kernel.process_name(pid) == "sluice-node",
    "raylet": _is_raylet,
}


def undisturbed(folder):
    """The output of the job on the local engine."""
    place = written(folder)
    code, _, complained = place.run()
    assert code == 0, complained
    return place.outputs()


def campaign(folder, seed, kills, **settings):
    """Runs with kills until there were so many of them; yields each when it has been checked."""
    rng = random.Random(seed)
    wanted = undisturbed(folder / "undisturbed")
    runs = 0
    while kills > 0:
        chaos = RayChaos(written(folder / f"run-{runs}", **settings), rng)
        chaos.run(min(kills, KILLS_PER_RUN))
        lives = chaos.check(wanted)
        kills -= max(1, chaos.kills.total())
        runs += 1
        yield chaos, lives


def main():
    """Print what was killed, run by run, and the sums. A run that is not right raises."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    killed: Counter[str] = Counter()
    resumed = lost = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (chaos, lives) in enumerate(campaign(Path(folder), given.seed, given.kills)):
            killed += chaos.kills
            resumed += lives.epochs - 1
            lost += lives.nodes_lost
            sys.stdout.write(
                f"{time.strftime('%X')} run {number}: {chaos.log}; {lives.epochs} lives,"
                f" {lives.nodes_lost} nodes lost, {len(lives.finished)} tasks finished\n"
            )
            sys.stdout.flush()
    sums = ", ".join(f"{count} x {victim}" for victim, count in sorted(killed.items()))
    sys.stdout.write(
        f"{killed.total()} kills ({sums}), {resumed} lives resumed, {lost} nodes lost:"
        " nothing lost, nothing done twice\n"
    )


if __name__ == "__main__":
    main()
