"""The effect of a seed on a run: life after life is ended at moments of its choice.

Most moments are things that the driver does (the third renaming of a file, say), so that a seed
finds them again on any machine; others are instants, for not everything is an audit event.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from tests.live.command_line import PATIENCE_S, marked

LIFE_S_MAX = 1.5
STRIKES_MAX = 20  # sightings of a victim before it is struck
INTERRUPTED = 130
# How often a life does them, so that any of the times may be the last.
EVENTS = {"open": 250, "os.rename": 10, "os.remove": 6, "os.mkdir": 8, "shutil.rmtree": 12}
# What a request to stop may come to: done before, answered, or heard before anybody listened.
STOPPED = {0, INTERRUPTED, -signal.SIGTERM, -signal.SIGINT}


class Chaos:
    """One run of a place's workload.

    kills: times that its driver was ended by `kill -9`.  agents_struck: lives whose agent was.
    log: what was done, and the exit codes.
    """

    def __init__(self, place, rng):
        self.place = place
        self.kills = 0
        self.agents_struck = 0
        self.log = []
        self._rng = rng

    def run(self, kills_max):
        """To the end of the run; undisturbed once there were enough kills."""
        ways = [self._die_at_event] * 6 + [self._die_at_instant] * 4 + [self._die_committing] * 2
        ways += [self._stop, self._strike_attempt, self._strike_host, self._strike_agent]
        code = None
        while code != 0:
            way = self._rng.choice(ways)
            process = way() if self.kills < kills_max else self._begun()
            code = self._ended(process)

    def live_until(self, event, number):
        """One life, killed when it does something for the nth time; returns the exit code."""
        return self._ended(self._begun(killed_at=(event, number)))

    def _begun(self, **more):
        return self.place.started("run", str(self.place.file), "--resume", **more)

    def _ended(self, process):
        _, complained = process.communicate(timeout=PATIENCE_S)
        code = process.returncode
        self.log.append(code)
        self.kills += code == -signal.SIGKILL
        assert code in {0, -signal.SIGKILL} | STOPPED, (self.log, complained)
        assert self.place.processes_left() == {}, self.log
        return code

    # --- the driver dies --------------------------------------------------------------------------

    def _die_at_event(self):
        event = self._rng.choice(list(EVENTS))
        number = self._rng.randint(1, EVENTS[event])
        self.log.append(f"{event} {number}")
        return self._begun(killed_at=(event, number))

    def _die_at_instant(self):
        return self._signalled(signal.SIGKILL)

    def _stop(self):
        return self._signalled(self._rng.choice([signal.SIGTERM, signal.SIGINT]))

    def _signalled(self, number):
        after_s = self._rng.uniform(0, LIFE_S_MAX)
        self.log.append(f"{number.name} after {after_s:.3f} s")
        process = self._begun()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.send_signal(number)
        return process

    def _die_committing(self):
        """As soon as an output is seen to grow, or to stand there."""
        self.log.append("SIGKILL at a commit")
        before = self._commits()
        process = self._begun()
        while process.poll() is None and self._commits() == before:
            time.sleep(0.001)
        process.kill()
        return process

    def _commits(self):
        out = self.place.folder / "out"
        return {*out.glob(".*/committed"), *out.glob("[!.]*")}

    # --- the driver lives on ----------------------------------------------------------------------

    def _strike_attempt(self):
        """The whole process group of a mapper or reducer."""
        return self._struck("attempt", self._at_work, _kill_group)

    def _strike_host(self):
        return self._struck("host", lambda: self._named("sluice-host"), os.kill)

    def _strike_agent(self):
        self.agents_struck += 1
        return self._struck("agent", lambda: self._named("sluice-agent"), os.kill)

    def _at_work(self):
        return [pid for pid in self.place.processes() if pid in marked("SLUICE_ATTEMPT=")]

    def _named(self, name):
        return [pid for pid in self.place.processes() if name_of(pid) == name]

    def _struck(self, what, find, kill):
        wait = self._rng.randint(1, STRIKES_MAX)
        self.log.append(f"{what} struck at sighting {wait}")
        process = self._begun()
        while process.poll() is None and wait:
            victims = find()
            wait -= bool(victims)
            if not wait:
                # A victim may have gone by itself meanwhile.
                with contextlib.suppress(ProcessLookupError):
                    kill(self._rng.choice(victims), signal.SIGKILL)
            time.sleep(0.005)  # to look through all processes takes as long
        return process


def _kill_group(pid, number):
    os.killpg(os.getpgid(pid), number)


def name_of(pid):
    """The name of a process as `ps` shows it; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
