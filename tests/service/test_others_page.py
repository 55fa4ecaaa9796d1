"""Applications of others on the page: in the queue, one by one, and how they are steered."""

import json

import pytest
import yaml
from tests import skips
from tests.effort import first_of
from tests.resource_manager import T0_MS, SteeredResourceManager, application, served
from tests.service.clients import Client, token
from tests.service.pages import SIZES, violations
from tests.service.services import CONFIG, serving
from tests.service.test_observed import awaited_jobs
from tests.service.test_steering import CONFIGURED, awaited
from tests.service.test_views import kept

skips.required("fastapi")
skips.required("playwright.sync_api")
from playwright.sync_api import expect  # noqa: E402  # only where it is installed

expect.set_options(timeout=30_000)  # the machine may be busy
RUNS = application(1, "RUNNING", queue="root.a", elapsedTime=240_000)
WAITS = application(2, "ACCEPTED", queue="root.b", name="report", startedTime=T0_MS + 240_000)
USED = application(9, "FINISHED", queue="root.a", vcoreSeconds=1000, finishedTime=T0_MS + 60_000)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(SteeredResourceManager([RUNS, WAITS, USED], CONFIGURED)) as fake:
        section = {"promise_wait_s": 30, "observe": fake.address, "steer": {"policies": ["ltyarn"]}}
        config = json.dumps({**yaml.safe_load(CONFIG), "service": section})
        folder = tmp_path_factory.mktemp("others")
        options = ("--config", "serve.yaml", "--listen", "127.0.0.1:0")
        with serving(folder, *options, config=config) as it:
            awaited(it, lambda found: found["decisions"])
            awaited_jobs(it, 2)
            yield it


LOOKS = [("phone", "dark"), ("wide", "light"), ("wide", "dark"), ("phone", "light")]


@pytest.mark.parametrize(("size", "scheme"), first_of(LOOKS, 2))
def test_the_queue_lists_them_with_forecasts_and_what_was_decided(service, visit, size, scheme):
    page = visit(size, scheme).log_in(service)
    rows = page.get_by_role("region", name="Applications of others")
    expect(rows.get_by_text("forecasts, not promises")).to_be_visible()
    runs = rows.locator(f"tr[data-key='{RUNS['id']}']")
    expect(runs).to_contain_text("running (observed)")
    kept(page, f"others-queue-{size}-{scheme}")
    assert fits(page, size)

    page.get_by_label("Search").fill("report")
    page.keyboard.press("Tab")
    expect(runs).to_have_count(0)
    rows.get_by_role("link", name="report").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("report")
    expect(page.get_by_text("submitted by ann to root.b")).to_be_visible()
    expect(page.get_by_text("ltyarn: capacity of root.b 50 ->")).to_be_visible()
    kept(page, f"others-one-{size}-{scheme}")
    assert fits(page, size)

    page.go_back()
    page.get_by_role("link", name="How the cluster is steered").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Steering")
    expect(page.get_by_text("✓ set").first).to_be_visible()
    kept(page, f"others-steering-{size}-{scheme}")
    assert fits(page, size)


def fits(page, size):
    """Whether a view is accessible and no wider than its screen."""
    assert violations(page) == []
    return page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


def test_users_see_nothing_of_them(service, visit):
    anna = Client(service, token(service, "anna"))
    found = anna.get("/v1/queues").json
    assert {"observes", "steers"}.isdisjoint(found)
    for path in (f"/v1/jobs/{RUNS['id']}/story", "/v1/jobs/cluster/story"):
        assert anna.get(path).status == 404
    assert anna.get(f"/v1/observed/{RUNS['id']}").status == 403


def test_the_story_of_an_application_has_what_was_decided_about_its_queue(service):
    olga = Client(service, token(service, "olga", role="operator"))
    assert olga.get(f"/v1/observed/{RUNS['id']}").json["state"] == "running"
    assert olga.get("/v1/observed/application_1_1").status == 404
    assert olga.get("/v1/observed?state=waiting").json["items"][0]["job_id"] == WAITS["id"]
    story = olga.get(f"/v1/jobs/{RUNS['id']}/story").json
    assert story["kind"] == "application"
    what = [line["what"] for line in story["lines"]]
    assert what[:2] == ["submitted by ann to root.a", "started"]
    assert any(one.startswith("ltyarn: capacity of root.a 50 ->") for one in what)
    assert not any("root.b" in one for one in what)

    code, out, err = service.run("story", "root.b")
    assert code == 0, err
    assert out.startswith("queue root.b\n")
    assert "ltyarn: capacity 50 -> " in out
    assert "its share is 50 %" in out
    code, out, err = service.run("story", "cluster")
    assert code == 0, err
    assert "capacity of root.a" in out
    assert "capacity of root.b" in out
    assert service.run("story", "root.none")[0] == 2
