"""The page in a real browser: what a user clicks and presses, and what is shown then."""

import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests import skips, warm_start
from tests.effort import first_of
from tests.service.clients import Client, job
from tests.service.pages import SIZES, Visit, violations
from tests.service.services import serving
from tests.service.test_activation import SERVED as WITH_QUEUES
from tests.service.test_activation import yarn

skips.required("fastapi")
skips.required("playwright.sync_api")
from playwright.sync_api import expect  # noqa: E402  # only where it is installed

expect.set_options(timeout=30_000)  # the machine may be busy
# Each view is looked at in both sizes and schemes by test_views.py.
LOOKS = [("phone", "dark"), ("wide", "light")]
HALVES = Path(__file__).resolve().parents[2] / "examples" / "queues" / "halves.xml"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("page"), "--config", "serve.yaml") as running:
        yield running


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


@pytest.mark.parametrize(("size", "scheme"), first_of(LOOKS, 1))
def test_a_job_appears_runs_and_ends_while_one_looks(service, owner, visit, size, scheme):
    page = visit(size, scheme).log_in(service)
    name = f"look-{size}"

    owner.post("/v1/jobs", {"job": job(service, name, 2)})

    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("▶ running")
    expect(row).to_contain_text("✓ done")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES[size][0]


def test_one_job_shows_promise_why_picture_and_story(service, owner, visit):
    page = visit().log_in(service)
    job_id = owner.post("/v1/jobs", {"job": job(service, "shown", 1)}).json["job_id"]
    page.get_by_role("link", name="shown").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("shown ✓ done")
    assert page.url.endswith(f"/jobs/{job_id}")
    expect(page.locator("svg.gantt rect")).to_have_count(1)
    expect(page.get_by_text("promised end")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="job done")).to_be_visible()
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("row").filter(has_text="map-0-1")).to_be_visible()
    page.get_by_text("Where its time went").click()
    expect(page.get_by_text("Critical path")).to_be_visible()


def staged(service, owner):
    """A job of two stages, and one that runs after it: their ids."""
    lengths = {"maps": {"tasks": 1, "avg_s": 2, "max_s": 2}, "reduces": {"tasks": 1, "avg_s": 1}}
    first = job(service, "counts-of-the-day", 2, **lengths)
    first["run"] |= {"reducer": "cat"}
    body = {"version": 1, "jobs": [first, job(service, "report", 1, after=["counts-of-the-day"])]}
    return [one["job_id"] for one in owner.post("/v1/workloads", body).json["jobs"]]


@pytest.mark.parametrize(("size", "scheme"), first_of(LOOKS, 1))
def test_the_stages_of_a_job_and_the_jobs_before_it_are_a_graph(
    service, owner, visit, size, scheme
):
    first, after = staged(service, owner)
    page = visit(size, scheme).log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{after}")
    graph = page.locator("svg.graph")

    before = graph.get_by_role("link", name="counts-of-the-day")
    before.focus()
    expect(graph.get_by_role("img", name="map: done, 1 of 1 task done, ended")).to_be_visible()
    expect(before).to_be_focused()  # although the view was drawn again
    assert violations(page) == []
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text("counts-of-the-day ✓ done")
    assert page.url.endswith(f"/jobs/{first}")
    expect(graph.get_by_role("img", name="reduce: done, 1 of 1 task done, ended")).to_be_visible()
    expect(graph.locator(".edge")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


def makespan_s(owner, job_id):
    """From the submission of a job to its end, or to that of its last attempt."""
    row = owner.get(f"/v1/jobs/{job_id}").json
    attempts = owner.get(f"/v1/jobs/{job_id}/attempts").json["items"]
    end = max(row["ends_at"]["expected"], *(one["ended_at"] for one in attempts))
    return (
        datetime.fromisoformat(end) - datetime.fromisoformat(row["submitted_at"])
    ).total_seconds()


@pytest.mark.parametrize(("size", "scheme"), first_of(LOOKS, 1))
def test_two_jobs_are_shown_side_by_side(service, owner, visit, size, scheme):
    rows = []
    for name, seconds in ((f"quick-{size}", 0.2), (f"slow-{size}", 6)):
        job_id = owner.post("/v1/jobs", {"job": job(service, name, seconds)}).json["job_id"]
        while (row := owner.get(f"/v1/jobs/{job_id}").json)["state"] != "done":
            time.sleep(0.1)
        rows.append(row)
    page = visit(size, scheme).log_in(service)
    expect(page.get_by_role("button", name="Compare: choose two")).to_be_disabled()
    for row in rows:
        page.get_by_label(f"Compare {row['name']} ({row['job_id']})").focus()
        page.keyboard.press("Space")
    names = [row["name"] for row in rows]
    expect(page.get_by_role("button", name=f"Compare {names[0]} with {names[1]}")).to_be_enabled()
    page.keyboard.press("c")

    expect(page.get_by_role("heading", level=1)).to_have_text(" against ".join(names))
    one, other = (makespan_s(owner, row["job_id"]) for row in rows)
    cells = page.get_by_role("row").filter(has_text="makespan").get_by_role("cell")
    # On a busy machine the quick one may have waited for longer.
    expect(cells.nth(3)).to_contain_text("✕ +" if other > one else "✓ −")
    first, second, off = (
        float(cells.nth(number).inner_text().lstrip("✕✓ +").replace("−", "-").partition(" s")[0])
        for number in (1, 2, 3)
    )
    rounded_s = 0.51 if max(one, other) >= 10 else 0.051
    assert (first, second) == pytest.approx((one, other), abs=rounded_s)
    assert off == pytest.approx(second - first, abs=rounded_s)  # of what is shown
    expect(page.get_by_role("row").filter(has_text="longest attempt")).to_contain_text("✕ +")
    expect(page.get_by_role("row").filter(has_text="cost, as expected")).to_contain_text("$0.0")
    expect(page.locator("svg.pair rect.side")).to_have_count(2)
    expect(page.locator("svg.gantt:not(.pair) rect.map")).to_have_count(2)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    page.get_by_role("link", name="Change sides").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(" against ".join(reversed(names)))
    expect(page.get_by_role("row").filter(has_text="longest attempt")).to_contain_text("✓ −")


@pytest.mark.parametrize(("size", "is_cut"), [("wide", False), ("phone", True)])
def test_a_picture_that_is_cut_says_that_it_scrolls(service, owner, visit, size, is_cut):
    job_id = owner.post("/v1/jobs", {"job": job(service, "scrolled", 0.1)}).json["job_id"]
    page = visit(size).log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{job_id}")

    expect(page.locator("svg.gantt rect")).to_have_count(1)
    expect(page.get_by_text("Scroll sideways")).to_have_count(1)
    expect(page.get_by_text("Scroll sideways")).to_be_visible(visible=is_cut)


def test_who_has_a_link_sees_its_job_alone(service, owner, visit):
    name = "shared-with-a-guest"
    job_id = owner.post("/v1/jobs", {"job": job(service, name, 3)}).json["job_id"]
    page = visit().log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{job_id}")
    page.get_by_role("button", name="Share …").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"Share {name}")
    assert violations(page) == []
    link = page.get_by_label("Link").input_value()

    guest = visit("phone", "dark").page
    guest.goto(link)
    expect(guest.get_by_role("heading", level=1)).to_contain_text(f"{name} ✓ done")
    assert guest.url.endswith(f"/jobs/{job_id}")
    expect(guest.get_by_role("navigation")).not_to_be_visible()
    expect(guest.get_by_role("button", name="Share …")).not_to_be_visible()
    assert violations(guest) == []


def test_a_job_is_killed_after_a_question(service, owner, visit):
    job_id = owner.post("/v1/jobs", {"job": job(service, "endless", 60)}).json["job_id"]
    page = visit().log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{job_id}")

    page.get_by_role("button", name="Kill …").click()
    expect(page.get_by_role("dialog")).to_contain_text("Kill endless?")
    page.get_by_role("button", name="Kill", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("killed")
    expect(page.get_by_text("not judged: the job was killed")).to_be_visible()
    assert owner.get(f"/v1/jobs/{job_id}").json["state"] == "killed"


def test_how_busy_the_nodes_were_is_drawn_and_listed(service, owner, visit):
    job_id = owner.post("/v1/jobs", {"job": job(service, "drawn", 1)}).json["job_id"]
    page = visit("phone", "dark").log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/nodes")

    expect(page.locator("canvas.timeline")).to_be_visible()
    page.get_by_label("by").select_option("job")
    page.get_by_text("The same as a table").click()
    # The table of nodes may name the job, too, while it runs.
    expect(page.get_by_role("row").filter(has_text=job_id).filter(has_text="%")).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES["phone"][0]


@pytest.mark.parametrize(("size", "scheme"), first_of(LOOKS, 1))
def test_a_plan_is_chosen_and_put_to_work(service, visit, size, scheme):
    page = visit(size, scheme).log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/plans")
    many = service.folder / "many"
    many.mkdir(exist_ok=True)
    for number in range(8):
        (many / f"{number}.txt").write_text("a b\n")
    jobs = [
        {**job(service, name, 0.1), "maps": {"tasks": 8, "fixed_s": 1, "work_s": 400 * number}}
        for number, name in enumerate((f"one-{size}", f"two-{size}"), 1)
    ]
    for each in jobs:
        each["run"]["input"] = [str(many)]
    workload = {
        "version": 1, "prices": {"vm_hour_usd": 1.0, "billing_s": 60}, "jobs": jobs,
        "cluster": {"map_slots_per_vm": 1, "reduce_slots_per_vm": 1},
    }  # fmt: skip
    page.get_by_label("or its text").fill(json.dumps(workload))
    page.get_by_role("button", name="Plan", exact=True).click()

    expect(page.get_by_text("plans: from")).to_be_visible()
    page.get_by_label("1: ", exact=False).first.check()
    expect(page.get_by_text("Jobs of plan 1")).to_be_visible()
    page.get_by_role("button", name="Put plan 1 to work …").click()
    page.get_by_role("button", name="Submit 2 jobs").click()
    page.get_by_role("button", name="To the queue").click()
    expect(page.get_by_role("row").filter(has_text=f"two-{size}")).to_contain_text("✓ done")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES[size][0]


def test_a_workload_that_cannot_be_planned_says_why(visit, service):
    page = visit().log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/plans")
    page.get_by_label("or its text").fill("version: 1")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("jobs")


def test_fairness_says_who_is_owed_what(service, owner, visit):
    job_id = owner.post("/v1/jobs", {"job": job(service, "shared", 1)}).json["job_id"]
    while owner.get(f"/v1/jobs/{job_id}").json["state"] != "done":
        time.sleep(0.1)
    page = visit("phone").log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/fairness")
    page.get_by_label("The last").select_option("hour")
    expect(page.get_by_text("The rule in force is")).to_be_visible()
    expect(page.locator("svg.curve").first).to_be_visible()
    page.get_by_text("The same by period").click()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES["phone"][0]


def test_other_queues_are_tried_on_the_past(service, owner, visit):
    job_id = owner.post("/v1/jobs", {"job": job(service, "past", 0.2)}).json["job_id"]
    while owner.get(f"/v1/jobs/{job_id}").json["state"] != "done":
        time.sleep(0.1)
    page = visit("phone", "dark").log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/configs")
    page.get_by_label("Name").fill("halves")
    page.get_by_label("Text").fill(HALVES.read_text())
    page.get_by_role("button", name="Write it").click()
    page.get_by_label("Queues of other jobs").fill("*=root.nightly")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_text("There is nothing to compare with")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="root.nightly")).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES["phone"][0]


def test_sliders_write_the_shares_of_queues_and_replay(service, owner, visit):
    job_id = owner.post("/v1/jobs", {"job": job(service, "slid", 0.2)}).json["job_id"]
    while owner.get(f"/v1/jobs/{job_id}").json["state"] != "done":
        time.sleep(0.1)
    made = owner.post("/v1/configs", {"name": "slid", "text": HALVES.read_text()})
    assert made.status == 201, made.text
    page = visit("phone", "light").log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/configs/slid")
    page.get_by_label("Queues of other jobs").fill("*=root.nightly")
    page.get_by_label("Capacity of root.nightly").focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Capacity of root.analysts")).to_have_value("70")
    expect(page.get_by_label("Maximum of root.analysts")).to_have_value("70")  # not below it
    expect(page.get_by_label("Maximum of root.nightly")).to_have_value("100")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"][0]
    page.get_by_role("button", name="Write and replay").click()

    expect(page.get_by_role("row").filter(has_text="root.nightly")).to_be_visible()
    text = owner.get("/v1/configs/slid").json["text"]
    assert text == HALVES.read_text().replace(
        "nightly.capacity</name><value>50", "nightly.capacity</name><value>30"
    ).replace("capacity</name><value>50", "capacity</name><value>70")
    page.get_by_label("Text").fill(
        "<allocations><queue name='root'><queue name='etl'><weight>3</weight></queue></queue>"
        "<!-- <queue name='old'><weight>9</weight></queue> --></allocations>"
    )
    page.get_by_label("Weight of root.etl").fill("4.5")
    expect(page.get_by_label("Text")).to_have_value(re.compile("<weight>4.5</weight></queue></q"))
    expect(page.get_by_role("slider")).to_have_count(1)


def test_other_queues_are_put_into_effect(tmp_path, visit):
    with serving(tmp_path, "--config", "serve.yaml", config=WITH_QUEUES) as queued:
        owner = Client(queued, is_owner=True)
        text = yarn(slow=20, fast=30, extra=50)
        owner.post("/v1/configs", {"name": "wider", "text": text})
        page = visit("phone", "light").log_in(queued)
        page.goto(f"{page.url.removesuffix('/queue')}/configs/wider")

        page.get_by_role("button", name="Put into effect").click()
        page.get_by_role("button", name="Yes, version 1 shares the cluster from now on").click()

        expect(page.get_by_text("Version 1 is in effect: slow, fast, extra.")).to_be_visible()
        expect(page.get_by_role("button", name="Put into effect")).to_be_visible()
        page.get_by_role("button", name="Present queues").click()
        expect(page.get_by_label("Weight of root.extra")).to_be_visible()
        page.get_by_label("Weight of root.extra").fill("2")
        page.get_by_role("button", name="Write a new version").click()
        expect(page.get_by_role("row").filter(has_text="wider")).to_contain_text("2")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as service file").click()
        assert download.value.suggested_filename == "wider.yaml"
        assert "{id: extra, weight: 2.0" in Path(download.value.path()).read_text("utf-8")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= SIZES["phone"][0]
        page.goto("about:blank")  # the stream of changes ends before its service does


def test_a_job_is_held_and_let_go(service, owner, visit):
    asked = {"job": job(service, "held-back"), "hold": True, "labels": {"team": "red"}}
    job_id = owner.post("/v1/jobs", asked).json["job_id"]
    page = visit().log_in(service)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{job_id}")

    expect(page.get_by_role("heading", level=1)).to_contain_text("‖ held")
    expect(page.get_by_text("team=red")).to_be_visible()
    page.get_by_role("button", name="Let it go").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("✓ done")


def test_keys_alone_open_a_job(service, owner, visit):
    job_id = owner.post("/v1/jobs", {"job": job(service, "by-keys")}).json["job_id"]
    page = visit().log_in(service)
    expect(page.get_by_role("link", name="by-keys")).to_be_visible()

    page.keyboard.press("/")
    page.keyboard.type("by-keys")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{page.url.partition('/queue')[0]}/queue?name=by-keys")
    expect(page.locator("tr[data-key]")).to_have_count(1)
    page.keyboard.press("j")
    expect(page.locator("tr[data-selected=true]")).to_contain_text("by-keys")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text("by-keys")
    assert page.url.endswith(job_id)
    page.keyboard.press("g")
    page.keyboard.press("p")
    expect(page.get_by_role("heading", level=1)).to_have_text("Promises")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_theme_is_kept(service, visit):
    page = visit().log_in(service)
    page.get_by_role("button", name="Change between light and dark").click()
    page.reload()

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_name_with_markup_stays_text(service, owner, visit):
    name = "<img src=x onerror=alert(1)>"
    owner.post("/v1/jobs", {"job": job(service, name)})
    page = visit().log_in(service)

    expect(page.get_by_role("link", name=name)).to_be_visible()
    assert page.locator("main img").count() == 0


def test_the_nodes_show_the_names_of_their_jobs(service, owner, visit):
    job_id = owner.post("/v1/jobs", {"job": job(service, "seen-by-name", 60)}).json["job_id"]
    page = visit().log_in(service)
    page.get_by_role("link", name="Nodes").click()

    link = page.get_by_role("link", name="seen-by-name").first
    expect(link).to_have_attribute("href", f"/jobs/{job_id}")
    expect(link).to_have_attribute("title", job_id)
    owner.delete(f"/v1/jobs/{job_id}")


def test_nodes_and_an_empty_view(service, visit):
    page = visit().log_in(service)
    page.get_by_role("link", name="Nodes").click()
    expect(page.get_by_text("2 of 2 nodes up")).to_be_visible()

    page.goto(f"{page.url.partition('/nodes')[0]}/queue?name=nothing-like-this")
    expect(page.get_by_text("No job is like this.")).to_be_visible()


def test_who_is_not_logged_in_is_asked_for_a_token(service, browser):
    visit = Visit(browser)
    base = service.page.partition("/login")[0]
    visit.page.goto(f"{base}/promises")
    visit.page.wait_for_url("**/login?to=%2Fpromises")

    visit.page.get_by_label("Token").fill("sl_wrong")
    visit.page.get_by_role("button", name="Log in").click()
    expect(visit.page.get_by_role("alert")).to_contain_text("unknown or was revoked")

    code, out, _ = service.run(
        "serve", "tokens", "create", "by-page", "--tenant", "t", "--role", "viewer"
    )
    assert code == 0
    visit.page.get_by_label("Token").fill(out.strip())
    visit.page.get_by_role("button", name="Log in").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Promises")
    visit.close()


def test_recorded_runs_have_a_page_without_a_service(tmp_path, browser):
    (tmp_path / "in.txt").write_text("a\nb\n")
    (tmp_path / "words.yaml").write_text(
        "version: 1\ncluster: {nodes: 1, node: {map_slots: 1, reduce_slots: 1}}\n"
        "jobs:\n  - id: words\n    run: {input: [in.txt], output: out, mapper: cat}\n"
    )
    env = os.environ | {"SLUICE_HOME": str(tmp_path / "home")}
    sluice = [sys.executable, "-m", "sluice"]
    warm_start.run([*sluice, "run", "words.yaml"], cwd=tmp_path, env=env, check=True)
    (tmp_path / "again.yaml").write_text(
        (tmp_path / "words.yaml").read_text().replace("output: out", "output: again")
    )
    warm_start.run([*sluice, "run", "again.yaml"], cwd=tmp_path, env=env, check=True)
    with subprocess.Popen(
        [*sluice, "page", "--no-open"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            page = browser.new_page()
            page.goto(process.stdout.readline().strip())
            views = page.get_by_role("navigation").get_by_role("link")
            expect(views).to_have_text(["Queue", "Profiles"])
            page.get_by_role("link", name="words").first.click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("words ✓ done")
            expect(page.locator("svg.gantt rect")).to_have_count(1)
            page.get_by_role("link", name="Queue").click()
            expect(page.get_by_role("checkbox")).to_have_count(2)
            for box in page.get_by_role("checkbox").all():
                box.check()
            page.get_by_role("button", name="Compare run-000002").click()
            page.get_by_role("link", name="Compare the whole runs").click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("against run-000001")
            expect(page.locator("svg.pair rect.side")).to_have_count(2)
            expect(page.get_by_text("recorded runs do not keep")).to_be_visible()
            page.close()
        finally:
            process.terminate()
    assert process.returncode == 0


def test_without_a_run_the_page_says_what_to_do(tmp_path):
    env = os.environ | {"SLUICE_HOME": str(tmp_path / "home")}
    done = warm_start.run(
        [sys.executable, "-m", "sluice", "page", "--no-open"],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, "")
    assert "no run is recorded yet" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_admin_makes_and_revokes_a_token(service, visit):
    page = visit().log_in(service)
    page.get_by_role("link", name="Admin").click()
    processes = page.get_by_role("table").filter(has_text="Processes of the service")
    for name in ("driver", "follower", "web"):
        expect(processes.get_by_role("row").filter(has_text=name)).to_contain_text("MB")
    page.get_by_label("Name").fill("robot")
    page.get_by_label("Tenant").fill("etl")
    page.get_by_label("Role").select_option("submitter")
    page.get_by_role("button", name="Make a token").click()

    shown = page.locator("main code")
    expect(shown).to_contain_text("sl_")
    robot = Client(service, shown.inner_text())
    assert robot.get("/v1/whoami").json["user"] == "robot"
    page.get_by_role("button", name="Revoke robot").click()
    expect(page.get_by_text("is worth nothing any more")).to_be_visible()
    assert robot.get("/v1/whoami").status == 401
    expect(page.get_by_role("row").filter(has_text="DELETE /v1/tokens/robot")).to_be_visible()


def test_the_queue_is_filtered_and_ordered_and_its_address_keeps_both(service, owner, visit):
    over = owner.post("/v1/jobs", {"job": job(service, "over")}).json
    owner.delete(f"/v1/jobs/{over['job_id']}")
    held = owner.post("/v1/jobs", {"job": job(service, "kept"), "hold": True}).json
    page = visit().log_in(service)
    expect(page.locator(f"tr[data-key={over['job_id']}]")).to_be_visible()

    page.get_by_label("State").select_option("not ended")
    page.get_by_label("Order").select_option("first to end")
    page.locator("#queue").select_option(held["queue"])
    expect(page.locator("tr[data-key]")).to_have_count(1)
    page.reload()

    expect(page.locator(f"tr[data-key={held['job_id']}]")).to_contain_text("‖ held")
    expect(page.locator("tr[data-key]")).to_have_count(1)
    for label, value in (("State", "waiting held running"), ("Order", "eta")):
        expect(page.get_by_label(label)).to_have_value(value)
    expect(page.locator("#queue")).to_have_value(held["queue"])
    owner.delete(f"/v1/jobs/{held['job_id']}")


def test_the_queue_says_from_when_on_its_history_is_kept(service, owner, visit):
    """Also where no job is shown."""
    assert owner.get("/v1/jobs").json["kept_from"] is None

    def cut(route):
        name = "?name=no-job-is-called-so" if "no-job" in route.request.url else ""
        found = owner.get(f"/v1/jobs{name}").json
        route.fulfill(json=found | {"kept_from": "2026-10-26T04:00:00.000Z"})

    made = visit()
    made.page.route(re.compile(r"/v1/jobs\?"), cut)
    page = made.log_in(service)
    expect(page.get_by_text("kept from 2026-10-26 on")).to_be_visible()
    page.get_by_label("Search").fill("no-job-is-called-so")
    page.keyboard.press("Tab")
    expect(page.get_by_text("No job is like this.")).to_be_visible()
    expect(page.get_by_text("kept from 2026-10-26 on")).to_be_visible()


def test_a_view_that_was_left_does_not_cover_the_next(service, visit):
    page = visit().log_in(service)
    held: list[Any] = []

    def hold(route):
        held.append(route)

    page.route("**/v1/calibration?by=queue", hold)

    with page.expect_response("**/v1/promises?*"):
        page.get_by_role("link", name="Promises").click()
    page.get_by_role("link", name="Nodes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nodes")
    with page.expect_response("**/v1/calibration?by=queue"):
        held[0].continue_()
    page.wait_for_timeout(500)

    expect(page.get_by_role("heading", level=1)).to_have_text("Nodes")


def test_a_view_that_loads_takes_no_focus_from_its_user(service, visit):
    page = visit().log_in(service)

    def late(route):
        time.sleep(1)
        route.continue_()

    page.route("**/v1/queues", late)
    page.reload()
    expect(page.get_by_role("searchbox")).to_be_visible()

    page.keyboard.press("/")
    page.wait_for_timeout(2500)

    expect(page.get_by_role("searchbox")).to_be_focused()
