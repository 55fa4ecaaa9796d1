"""Each view of the page, in each size and colour scheme: accessible, as wide as the screen, quiet.

`SLUICE_TEST_SCREENSHOTS=FOLDER` keeps a picture of each.
"""

import hashlib
import os
import re
import time
from pathlib import Path

import pytest
from tests import skips
from tests.effort import first_of
from tests.service.clients import Client, job, token
from tests.service.pages import SIZES, violations
from tests.service.services import serving
from tests.service.test_activation import SERVED, yarn

skips.required("fastapi")
skips.required("playwright.sync_api")
from playwright.sync_api import expect  # noqa: E402  # only where it is installed

expect.set_options(timeout=30_000)  # the machine may be busy
VENDORED = Path(__file__).parent / "vendored"
VIEWS = {
    "queue": ("/queue", "Queue"),
    "empty": ("/queue?name=no-job-is-called-so", "Queue"),
    "job": ("/jobs/job-000001", "counted"),
    "waiting": ("/jobs/{waiting}", "long-"),
    "failed": ("/jobs/{failed}", "broken"),
    "compare": ("/compare?a=job-000001&b={failed}", "counted against broken"),
    "compare-open": ("/compare?a={waiting}&b={long}", "against"),
    "compare-none": ("/compare", "Compare"),
    "submit": ("/submit", "Submit"),
    "plans": ("/plans", "Plans"),
    "capacity": ("/capacity?nodes=2&weight.slow=3", "Capacity"),
    "promises": ("/promises", "Promises"),
    "profiles": ("/profiles", "Profiles"),
    "profile": ("/profiles/counted", "counted"),
    "fairness": ("/fairness", "Fairness"),
    "nodes": ("/nodes", "Nodes"),
    "configs": ("/configs/halves", "Time machine"),
    "admin": ("/admin", "Admin"),
}
HEADERS = {"wide": 60, "phone": 115}  # pixels: one line, and two
SHOWN = {  # what is there once a view is complete
    "capacity": "futures of each side",
    "profile": "Promised against measured",
    "fairness": "The rule in force is",
    "compare": "Not all was done: B is failed.",
    "compare-open": "A is not over: the figures are those so far.",
}
COMBINATIONS = first_of(  # each size and each scheme
    [
        pytest.param("phone", "dark"),
        pytest.param("wide", "light", marks=pytest.mark.slow),
        pytest.param("wide", "dark", marks=pytest.mark.slow),
        pytest.param("phone", "light", marks=pytest.mark.slow),
    ],
    2,
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    with serving(folder, "--config", "serve.yaml", config=SERVED) as it:
        yield it


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


def submitted(owner, service, name, seconds, *, mapper=None, **more):
    made = job(service, name, seconds)
    if mapper is not None:
        made["run"]["mapper"] = mapper
    answer = owner.post("/v1/jobs", {"job": made, "queue": "slow", **more})
    assert answer.status == 201, answer.text
    return answer.json["job_id"]


def ended(owner, job_id):
    until_s = time.monotonic() + 60
    while owner.get(f"/v1/jobs/{job_id}").json["state"] in {"waiting", "running"}:
        assert time.monotonic() < until_s
        time.sleep(0.1)


@pytest.fixture(scope="module")
def places(service, owner):
    """Jobs in every state. What addresses of views need, by name."""
    for _ in range(3):
        ended(owner, submitted(owner, service, "counted", 0.2))
    long = submitted(owner, service, "a_name_without_a_space_" * 6, 0.1)
    ended(owner, long)
    failed = submitted(owner, service, "broken", 0.1, mapper="sh -c 'echo lost >&2; exit 3'")
    ended(owner, failed)
    submitted(owner, service, "kept-back", 1, hold=True, labels={"team": "red"})
    waiting = [submitted(owner, service, f"long-{number}", 300) for number in range(7)][-1]
    owner.delete(f"/v1/jobs/{submitted(owner, service, 'unwanted', 300)}")
    owner.post("/v1/configs", {"name": "halves", "text": yarn(slow=50, fast=50)})
    token(service, "robot", "etl")
    return {"waiting": waiting, "failed": failed, "long": long}


@pytest.mark.parametrize(("size", "scheme"), COMBINATIONS)
def test_every_view_is_accessible_and_fits_its_screen(service, places, visit, size, scheme):
    page = visit(size, scheme).log_in(service)
    base = page.url.removesuffix("/queue")
    found = {}
    for name, (path, title) in VIEWS.items():
        page.goto(base + path.format(**places))
        expect(page.get_by_role("heading", level=1)).to_contain_text(title)
        if name in SHOWN:
            expect(page.get_by_text(SHOWN[name]).first).to_be_visible()
        for summary in page.locator("main summary").all():
            summary.click()
        page.wait_for_timeout(100)
        width = page.evaluate("document.documentElement.scrollWidth")
        found[name] = violations(page) + ([f"{width} wide"] if width > SIZES[size][0] else [])
        height = page.locator("header").bounding_box()["height"]
        found[name] += [f"header {height} high"] if height > HEADERS[size] else []
        kept(page, f"{name}-{size}-{scheme}")

    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize("size", SIZES)
def test_a_long_name_fits_its_screen(service, places, visit, size):
    page = visit(size, "light").log_in(service)
    expect(page.get_by_role("link", name="a_name_without").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    page.goto(page.url.removesuffix("/queue") + f"/jobs/{places['long']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("a_name_without")
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


def test_an_answer_waits_for_its_turn(service, places, visit):
    """A tenant has one answer at a time; another tab may have asked for one."""
    one = visit("wide", "light")
    page = one.log_in(service)
    refused: list[str] = []

    def refuse_once(route):
        if refused:
            return route.continue_()
        refused.append(route.request.url)
        problem = {"what": "other answers are being made", "retry_after_s": 1}
        return route.fulfill(status=429, json=problem)

    page.route("**/explain", refuse_once)
    page.goto(page.url.removesuffix("/queue") + "/jobs/job-000001")
    page.get_by_text("Where its time went").click()

    expect(page.get_by_role("table", name="Critical path")).to_be_visible()
    assert len(refused) == 1
    assert all("429" in said for said in one.said)
    one.said.clear()  # browsers write each refusal into the console


@pytest.mark.parametrize(("size", "scheme"), [("phone", "light")])
def test_keys_alone_compare_the_present_with_more_nodes(service, places, visit, size, scheme):
    page = visit(size, scheme).log_in(service)
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", level=1)).to_have_text("Capacity")
    page.get_by_label("Nodes more").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("8")
    page.keyboard.press("Enter")

    expect(page.get_by_role("row").filter(has_text="wait until the start, p95")).to_contain_text(
        "✓"
    )
    assert page.url.endswith("/capacity?nodes=8")  # which another user may open
    page.get_by_label("Nodes more").fill("-2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("leaves none")


def test_runs_are_predicted_and_compared(service, places, visit):
    page = visit("wide", "dark").log_in(service)
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", level=1)).to_have_text("Profiles")
    page.get_by_role("link", name="counted").press("Enter")
    expect(page.get_by_text("promises kept (claimed 90 %")).to_be_visible()
    page.get_by_role("button", name="Compare predictions with runs").press("Enter")

    expect(page.get_by_role("heading", name="Predicted against measured")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="job-000003").last).to_contain_text(" s")


def test_progress_lengths_and_limits_are_shown(service, places, owner, visit):
    page = visit("wide", "light").log_in(service)
    base = page.url.removesuffix("/queue")
    bar = page.get_by_role("row").filter(has_text="long-0").get_by_role("img")
    expect(bar).to_have_accessible_name("0 of 1 task done, 1 running")
    page.goto(f"{base}/jobs/job-000001")
    lengths = page.get_by_role("table", name="Lengths of done tasks, in seconds").get_by_role("row")
    expect(lengths).to_have_count(2)
    assert re.match(r"map\s+1(\s+0\.\d){5}$", lengths.last.inner_text())
    expect(page.locator("dt", has_text="ran").locator("+ dd")).to_contain_text(" s")
    owner.ask("PUT", "/v1/tenants/small", {"open_jobs_max": 7, "commands": "templates"})
    page.goto(f"{base}/admin")
    limits = page.get_by_role("row", name="small commands: templates, open jobs max: 7")
    expect(limits).to_be_visible()
    owner.delete("/v1/tenants/small")


def test_a_viewer_sees_how_promises_were_kept_and_no_runs(service, places, owner):
    vera = Client(service, token(service, "vera", "root", "viewer"))

    assert vera.get("/v1/profiles/counted/runs").status == 403
    assert vera.post("/v1/profiles/counted/calibration").status == 403
    assert owner.post("/v1/profiles/other/calibration").status == 404
    found = owner.get("/v1/promises?profile=counted").json
    assert found["total"] == 3
    assert {one["basis"]["profile"] for one in found["items"]} == {"counted"}


def test_the_log_in_and_the_list_of_keys_are_accessible(service, places, browser, visit):
    one = visit("phone", "dark")
    base = service.page.partition("/login")[0]
    one.page.goto(f"{base}/login?to=%2Fqueue")
    expect(one.page.get_by_label("Token")).to_be_visible()
    assert violations(one.page) == []
    kept(one.page, "login-phone-dark")

    page = visit("wide", "light").log_in(service)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
    kept(page, "keys-wide-light")


def test_an_error_is_accessible(service, visit):
    one = visit("phone", "dark")
    page = one.log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/job-999999")
    expect(page.get_by_role("heading", level=1)).to_have_text("This cannot be shown")
    assert violations(page) == []
    assert all("404" in said for said in one.said)  # the browser says so, and nothing else is said
    one.said.clear()


def test_vendored_assets_are_those_of_the_list():
    listed = dict(
        re.findall(
            r"^\| `([^`]+)`.*`([0-9a-f]{64})` \|$",
            (VENDORED / "README.md").read_text(),
            re.MULTILINE,
        )
    )
    assert listed == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDORED.iterdir()
        if path.name != "README.md"
    }


def kept(page, name):
    """Keep a picture, if somewhere is said."""
    folder = os.environ.get("SLUICE_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)
