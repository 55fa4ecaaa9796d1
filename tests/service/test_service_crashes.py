"""Kill -9 of a service's processes and of its users: what was acknowledged is there, once.

For a campaign of kills at random moments, give their number:
`SLUICE_TEST_KILLS=200 pytest tests/service/test_service_crashes.py -k random`.
"""

import json
import os
import random
import threading
import time
from pathlib import Path

import pytest
from tests.effort import IS_THOROUGH
from tests.service.services import CONFIG, PATIENCE_S, TEXT, Service, killed

from sluice.store.service.segments import segments_in

KILLS = int(os.environ.get("SLUICE_TEST_KILLS", "200" if IS_THOROUGH else "8"))
WHO = ("driver", "driver", "follower", "supervisor", "user")
USERS = 2


class User(threading.Thread):
    """Submits job after job, each with a key of its own, until each is acknowledged.

    acknowledged: what each was answered.  killed: how often its command was killed.
    """

    def __init__(self, service, number):
        super().__init__()
        self.service, self.number = service, number
        self.acknowledged, self.killed = {}, 0
        self.is_done = False
        self._command = None

    def run(self):
        for count in range(10_000):
            name = f"u{self.number}-{count}"
            file = self.service.nap(name, 0.2)
            while name not in self.acknowledged:
                if self.is_done:
                    return
                self._submit(name, file)

    def _submit(self, name, file):
        """Run the command once; a service that is down or a kill makes it fail."""
        self._command = self.service.command("submit", file, "--idempotency-key", name, "--json")
        out, _ = self._command.communicate()
        if self._command.returncode == 0:
            self.acknowledged[name] = json.loads(out)
        self.killed += self._command.returncode < 0

    def kill(self):
        """Kill the command at hand, which may have been acknowledged already."""
        if self._command is not None:
            self._command.kill()


@pytest.mark.slow
@pytest.mark.timeout(240 + 15 * KILLS)
def test_kills_at_random_moments_lose_nothing(tmp_path):
    (tmp_path / "serve.yaml").write_text(CONFIG.replace("30}", "30, segment_rows: 60}"))
    service = Service(tmp_path)
    service.start()
    users = [User(service, number) for number in range(USERS)]
    for user in users:
        user.start()
    draw = random.Random(36)
    for _ in range(KILLS):
        time.sleep(draw.uniform(0.1, 1.5))
        who = draw.choice(WHO)
        if who == "user":
            draw.choice(users).kill()
        elif who == "supervisor":
            service.process.kill()
            service.process.wait()
            service.process.stderr.close()
            service.start()
        else:
            killed(service.pid(who))
    for user in users:
        user.is_done = True
    for user in users:
        user.join()
    rows = service.settled()
    acknowledged = {name: one for user in users for name, one in user.acknowledged.items()}
    assert len(acknowledged) >= KILLS / 2
    assert KILLS < 50 or sum(user.killed for user in users) >= KILLS / 20
    names = [row["name"] for row in rows.values()]
    assert len(names) == len(set(names))
    for name, promise in acknowledged.items():
        row = rows[promise["job_id"]]
        assert (row["name"], row["state"]) == (name, "done")
        assert row["submitted_at"] == promise["made_at"]
        assert service.output(promise["job_id"]) == TEXT
    assert service.run("serve", "verify")[0] == 0
    assert len(segments_in(tmp_path / "home" / "service" / "journal")) > 2
    service.stop()


def test_a_follower_that_was_replaced_ends(tmp_path):
    service = Service(tmp_path)
    service.start()
    try:
        first = service.pid("follower")
        (tmp_path / "home" / "service" / "follower.sock").unlink()
        service.process.kill()  # the next one finds no follower, and starts another
        service.process.wait()
        service.process.stderr.close()
        service.start()
        assert service.pid("follower") != first
        until_s = time.monotonic() + PATIENCE_S
        while Path(f"/proc/{first}").exists() and time.monotonic() < until_s:
            time.sleep(0.1)
        assert not Path(f"/proc/{first}").exists()
    finally:
        service.stop()


def test_users_wait_for_what_starts_again(tmp_path):
    """As when a user submits and waits while the service starts: there is no socket of it then."""
    service = Service(tmp_path)
    service.start()
    try:
        job_id = service.document("submit", service.nap("long", 300))["job_id"]
        for who, *command in (
            ("follower", "jobs"),
            ("follower", "serve", "status"),
            ("driver", "kill", job_id),
            ("driver", "cordon", "node-1"),
            ("follower", "submit", service.nap(), "--wait"),
        ):
            killed(service.pid(who))
            (tmp_path / "home" / "service" / f"{who}.sock").unlink(missing_ok=True)
            code, _, err = service.run(*command)
            assert (code, err) == (0, ""), command
    finally:
        service.stop()


def test_a_follower_that_finds_damage_ends_with_one_message(tmp_path):
    """It would find the same again at each start, so it is not started again; jobs go on."""
    service = Service(tmp_path)
    service.start()
    try:
        service.document("submit", service.nap())
        service.settled()
        folder = next((tmp_path / "home" / "service" / "journal").glob("*"))
        for file in folder.glob("journal.db*"):
            content = file.read_bytes()
            if b'"name": "nap"' in content and not file.name.endswith("shm"):
                with file.open("r+b") as opened:
                    opened.seek(content.rindex(b'"name": "nap"') + 9)
                    opened.write(b"nip")
        killed(service.pid("follower"))
        until_s = time.monotonic() + PATIENCE_S
        while not (found := service.run("serve", "status"))[2] and time.monotonic() < until_s:
            time.sleep(0.2)
        while "No service" in found[2] and time.monotonic() < until_s:
            time.sleep(0.2)
            found = service.run("serve", "status")
        code, out, err = found
        assert code == 3
        assert "The service runs (driver" in out
        assert "journal" in err
        assert "sluice serve verify" in err
        status = json.loads(service.run("serve", "status", "--json")[1])
        assert status["follower"] is None
        assert status["fault"] in err.replace("\n", " ")
        said = (tmp_path / "home" / "service" / "service.log").read_text()
        code, out, err = service.run("jobs")
        assert (code, out) == (3, "")
        assert "Jobs go on" in err
        assert said.count("error:") == 1  # not once for each start
    finally:
        service.stop()


def test_a_damaged_journal_stops_the_service(tmp_path):
    service = Service(tmp_path)
    service.start()
    service.document("submit", service.nap())
    service.settled()
    service.stop()
    journal = segments_in(tmp_path / "home" / "service" / "journal")[-1] / "journal.db"
    content = bytearray(journal.read_bytes())
    at = content.rindex(b'"users": ')  # of the opening
    content[at + 1 : at + 6] = b"uzers"
    journal.write_bytes(content)
    code, _, err = service.run("serve", *service.options)
    assert code == 3
    assert "does not match its checksum" in err
    code, _, err = service.run("serve", "verify")
    assert code == 3
    assert "does not match its checksum" in err


def test_a_service_whose_folder_is_moved_ends_and_goes_on_when_it_is_back(tmp_path):
    """Another one that starts meanwhile finds no lock, and no job is in two services."""
    service = Service(tmp_path)
    service.start()
    try:
        job_id = service.document("submit", service.nap("moved", 3))["job_id"]
        driver = service.pid("driver")
        state = tmp_path / "home" / "service"
        state.rename(state.with_name("elsewhere"))
        assert service.process.wait(PATIENCE_S) == 3
        with service.process.stderr as said:
            assert "was moved or removed" in said.read()
        with pytest.raises(ProcessLookupError):
            os.kill(driver, 0)
        assert not state.exists()

        state.with_name("elsewhere").rename(state)
        service.start()
        assert service.settled()[job_id]["state"] == "done"
        assert service.output(job_id) == TEXT
    finally:
        service.stop()
