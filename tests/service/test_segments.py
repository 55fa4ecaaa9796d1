"""A service goes on over many segments of its journal, and users see no seam."""

import json
import time

import pytest
from tests.service.services import AFTER, CONFIG, PATIENCE_S, TEXT, killed, serving

from sluice.store.service.segments import chains, segments_in

SHORT = CONFIG.replace("30}", "30, segment_rows: 25}")


def journal(service):
    return service.folder / "home" / "service" / "journal"


def await_segments(service, number):
    """Wait until there are more than so many segments."""
    until_s = time.monotonic() + PATIENCE_S
    while len(segments_in(journal(service))) <= number:
        assert time.monotonic() < until_s, "no new segment"
        time.sleep(0.1)


def await_driver(service):
    """Wait until the driver answers again."""
    until_s = time.monotonic() + PATIENCE_S
    while service.run("serve", "status")[0] != 0:
        assert time.monotonic() < until_s, "the driver does not start"
        time.sleep(0.2)


@pytest.mark.slow
def test_users_see_no_seam(tmp_path):
    with serving(tmp_path, config=SHORT) as service:
        sent = ("submit", service.nap("once"), "--idempotency-key", "k")
        first = service.document(*sent)
        both = (tmp_path / service.nap("first", 1)).read_text() + AFTER
        (tmp_path / "both.yaml").write_text(both)
        service.document("submit", "both.yaml")
        long = service.document("submit", service.nap("long", 8))["job_id"]
        service.settled(but={long})
        await_segments(service, 1)
        killed(service.pid("driver"))  # the next one reads the newest segment only
        killed(service.pid("follower"))
        await_driver(service)
        assert service.document(*sent)["job_id"] == first["job_id"]
        service.document("submit", service.nap("last"))
        rows = service.settled()
        assert [row["name"] for row in rows.values()] == ["last", "long", "next", "first", "once"]
        assert {row["state"] for row in rows.values()} == {"done"}
        assert all(service.output(job_id) == TEXT for job_id in rows)
        assert service.document("why", first["job_id"])["job"] == first["job_id"]
        segments = len(segments_in(journal(service)))
        service.stop()  # what was stopped in order ends with an opening
        assert len(segments_in(journal(service))) == segments + 1
        assert [len(chain) for chain in chains(journal(service))] == [segments + 1]
        service.start()
        assert service.settled().keys() == rows.keys()
        assert service.document("submit", service.nap("more"))["job_id"] not in rows
        service.settled()
        code, out, _ = service.run("serve", "verify", "--json")
        assert code == 0
        found = json.loads(out)["segments"]
        assert sum(each["jobs"] for each in found) == len(rows) + 1
        assert found[-1]["open_jobs"] == 0
