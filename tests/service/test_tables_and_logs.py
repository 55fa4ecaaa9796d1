"""Tables of the page sort by any column, and the log of an attempt is followed while it runs."""

import gzip
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from tests import skips
from tests.service.clients import Client, job
from tests.service.pages import SIZES, violations
from tests.service.services import serving

skips.required("fastapi")
skips.required("playwright.sync_api")
from playwright.sync_api import expect  # noqa: E402  # only where it is installed

expect.set_options(timeout=30_000)  # the machine may be busy
SECONDS = {"b-middle": 0.4, "a-long": 0.8, "c-short": 0.1}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("tables"), "--config", "serve.yaml") as running:
        yield running


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


@pytest.fixture(scope="module")
def done(service, owner):
    """Three jobs that are done, the newest last, and a held one without an end."""
    for name, seconds in SECONDS.items():
        owner.post("/v1/jobs", {"job": job(service, name, seconds)})
    service.settled()
    owner.post("/v1/jobs", {"job": job(service, "d-held"), "hold": True})


def column(page, number):
    """The texts of a column of the first table."""
    return (
        page.locator("main table").first.locator(f"tbody td:nth-child({number})").all_inner_texts()
    )


def cut_to(page, limit):
    """Lists of jobs come in parts of this size."""
    page.route(
        "**/v1/jobs?*",
        lambda route: route.continue_(url=route.request.url.replace("limit=100", f"limit={limit}")),
    )


def test_keys_sort_the_queue_by_any_column_and_back(done, service, visit):
    page = visit().log_in(service)
    expect(page.get_by_role("row")).to_have_count(5)
    expect(page.get_by_text("0 jobs running, 0 waiting, 1 held")).to_be_visible()
    newest_first = column(page, 1)
    head = page.get_by_role("columnheader", name="job", exact=True)
    button = head.get_by_role("button")
    button.focus()

    page.keyboard.press("Enter")
    assert column(page, 1) == ["a-long", "b-middle", "c-short", "d-held"]
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert violations(page) == []
    page.keyboard.press("Space")
    assert column(page, 1) == ["d-held", "c-short", "b-middle", "a-long"]
    expect(head).to_have_attribute("aria-sort", "descending")
    page.keyboard.press("Enter")
    assert column(page, 1) == newest_first
    assert head.get_attribute("aria-sort") is None
    expect(button).to_be_focused()


def test_the_last_end_comes_first_and_no_end_last(done, service, visit):
    page = visit().log_in(service)
    expect(page.get_by_role("row")).to_have_count(5)
    by_end = page.get_by_role("button", name="ends", exact=True)

    by_end.click()
    falling = column(page, 1)
    by_end.click()
    rising = column(page, 1)

    assert falling[-1] == rising[-1] == "d-held"
    assert falling[:-1] == rising[-2::-1]


def test_a_part_of_a_list_is_sorted_alone_and_says_so(done, service, visit):
    page = visit().log_in(service)
    cut_to(page, 3)
    page.reload()
    expect(page.get_by_text("3 of 4 jobs: filter, or load more")).to_be_visible()
    page.get_by_role("button", name="job", exact=True).click()

    expect(page.locator("caption")).to_contain_text("Sorted by job: these 3 alone")
    page.get_by_role("button", name="Load more").click()
    expect(page.locator("caption")).to_have_text("4 jobs")
    assert column(page, 1) == sorted([*SECONDS, "d-held"])
    page.get_by_label("Order").select_option("first to end")  # of the service, for the whole list
    expect(page.locator("th[aria-sort]")).to_have_count(0)


def test_attempts_begin_with_the_longest_and_stay_as_they_were_sorted(service, owner, visit):
    file = service.folder / "in" / "long.txt"
    file.write_text("3\n")
    asked = job(service, "uneven", 3)
    asked["maps"]["tasks"] = 2
    asked["run"]["mapper"] = "sh -c 'read first; test $first = 3 && sleep 3; cat'"
    page = visit().log_in(service)
    made = owner.post("/v1/jobs", {"job": asked}).json["job_id"]
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{made}")
    page.get_by_text("The same as a table, the longest first").click()
    table = page.get_by_role("table", name="Attempts")
    expect(table.get_by_role("row")).to_have_count(3)
    seconds = table.locator("tbody td:nth-child(4)")

    expect(table.locator("th[aria-sort=descending]")).to_contain_text("seconds")
    table.get_by_role("button", name="seconds").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("✓ done")  # it was drawn again
    file.unlink(missing_ok=True)
    expect(table.get_by_role("button", name="seconds")).to_be_focused()
    shown = [float(text) for text in seconds.all_inner_texts()]
    assert shown == sorted(shown)
    assert shown[0] < 2 < shown[1]


def many_attempts(page, owner, made, count):
    """A page sees that many attempts of a job: the n-th ran for n seconds. It has their parts."""
    one = owner.get(f"/v1/jobs/{made}/attempts").json["items"][0]
    begun = datetime.fromisoformat(one["started_at"])
    rows = [
        one | {"key": f"map-{n}-1", "ended_at": (begun + timedelta(seconds=n)).isoformat()}
        for n in range(count)
    ]

    def part(route):
        asked = parse_qs(urlsplit(route.request.url).query)
        begin, limit = int(asked.get("cursor", ["0"])[0]), int(asked["limit"][0])
        found = rows[::-1] if asked.get("sort") == ["longest"] else rows
        end = begin + limit
        following = str(end) if end < count else None
        answer = {"items": found[begin:end], "next": following, "total": count}
        route.fulfill(json=answer | {"total_is_exact": True})

    page.route("**/attempts?*", part)


def test_the_longest_of_2000_attempts_is_first_and_columns_do_not_jump(done, service, owner, visit):
    page = visit().log_in(service)
    many_attempts(page, owner, "job-000001", 2000)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/job-000001")
    page.get_by_text("The same as a table, the longest first (2,000)").click()
    table = page.get_by_role("table", name="Attempts")
    heads, rows = table.locator("thead th"), table.locator("tbody tr")
    expect(rows).to_have_count(100)
    expect(rows.first).to_contain_text("map-1999-1")
    widths = [head.bounding_box()["width"] for head in heads.all()]

    table.get_by_role("button", name="Show more: 100 of 2,000 are shown").press("Enter")

    expect(rows).to_have_count(500)
    expect(table.get_by_role("button", name="Show more: 500 of 2,000")).to_be_focused()
    assert [head.bounding_box()["width"] for head in heads.all()] == pytest.approx(widths, abs=1)
    table.get_by_role("button", name="seconds").press("Enter")
    expect(rows.first).to_contain_text("map-0-1")  # all are sorted, not what is shown


def test_of_very_many_attempts_the_longest_are_in_the_table(done, service, owner, visit):
    page = visit("phone", "dark").log_in(service)
    many_attempts(page, owner, "job-000001", 6000)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/job-000001")
    expect(page.get_by_text("The first 5,000 of 6,000 attempts are drawn.")).to_be_visible()
    page.get_by_text("The same as a table, the longest first").click()
    table = page.get_by_role("table", name="Attempts")

    expect(table).to_contain_text("the 1,000 longest of 6,000")
    expect(table.locator("tbody tr").first).to_contain_text("map-5999-1")
    page.unroute("**/attempts?*")
    many_attempts(page, owner, "job-000001", 110)
    page.reload()
    page.get_by_text("The same as a table, the longest first (110)").click()
    expect(table.get_by_role("button", name="Show more: 100 of 110")).to_be_visible()
    assert violations(page) == []


def test_promises_that_were_loaded_are_all_shown(done, service, owner, visit):
    page = visit().log_in(service)
    (one, *_) = owner.get("/v1/promises").json["items"]

    def part(route):
        begin = 100 if "cursor" in route.request.url else 0
        rows = [one | {"job_id": f"job-{begin + n:06}"} for n in range(100)]
        answer = {"items": rows, "next": None if begin else "more", "total": 200}
        route.fulfill(json=answer | {"total_is_exact": True})

    page.route("**/v1/promises?*", part)
    page.get_by_role("link", name="Promises").click()
    page.get_by_role("button", name="Load more").click()

    expect(page.locator("tr[data-key]")).to_have_count(200)


def test_counts_of_the_queue_lead_to_their_jobs(done, service, visit):
    page = visit().log_in(service)
    page.get_by_role("link", name="1 held").click()

    page.wait_for_url("**/queue?state=held")
    expect(page.locator("tr[data-key]")).to_have_count(1)
    expect(page.get_by_label("State")).to_have_value("held")


def test_an_interval_names_its_day_once(done, service, owner, visit):
    (row, *_) = owner.get("/v1/jobs?state=held").json["items"]
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0) + timedelta(days=3)
    low, expected, high = (
        (noon + timedelta(hours=hours)).isoformat() for hours in (-1, 0, 24)
    )  # in Chromium's zone, which is that of this process
    end = {"expected": expected, "low": low, "high": high}
    page = visit().log_in(service)
    page.route(
        "**/v1/jobs?*",
        lambda route: route.fulfill(
            json={"items": [row | {"ends_at": end}], "next": None, "total": 1}
            | {"total_is_exact": True, "kept_from": None}
        ),
    )
    page.reload()

    shown = page.locator("tr[data-key] td").nth(4).inner_text()
    assert len(re.findall(r"[A-Z][a-z]{2} \d", shown)) == 2, shown
    assert page.locator("tr[data-key] td").nth(4).locator(f"time[datetime='{low}']").count() == 1


@pytest.mark.parametrize("path", ["/jobs/job-000001", "/compare?a=job-000001&b=job-000002"])
def test_a_view_that_takes_long_is_not_blank(path, done, service, visit):
    page = visit().log_in(service)
    held = []

    def hold(route):  # without an answer
        held.append(route)

    page.route("**/attempts?*", hold)
    page.goto(page.url.removesuffix("/queue") + path)

    expect(page.get_by_text("Loading …")).to_be_visible()
    for route in held:
        route.continue_()
    page.unroute("**/attempts?*")


def test_cards_of_a_phone_are_sorted_by_buttons(done, service, visit):
    page = visit("phone", "dark").log_in(service)
    page.get_by_role("button", name="queue", exact=True).click()
    page.get_by_role("button", name="id", exact=True).click()

    expect(page.locator("main tbody tr").first).to_contain_text("job-000001")
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"][0]
    assert violations(page) == []


HOSTILE = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>"
OLD_LINES = 20_000  # 220 KB, of which the page fetches the end


@pytest.fixture
def writing(service, owner):
    """A job that has written many lines, and writes one more whenever a file changes."""
    asked = job(service, "writes", 60)
    file = service.folder / "said.txt"
    asked["run"]["mapper"] = (
        f'sh -c \'seq -f "line %g " {OLD_LINES} >&2; printf "\\033[31mred\\033[0m é\\n" >&2;'
        f" tail -n +1 -F {file} >&2 2>/dev/null & cat; sleep 60; kill $!'"
    )
    made = owner.post("/v1/jobs", {"job": asked}).json["job_id"]
    yield made, file
    owner.delete(f"/v1/jobs/{made}")
    file.unlink(missing_ok=True)


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_a_log_is_followed_by_its_last_lines(service, writing, visit, size, scheme):
    made, file = writing
    page = visit(size, scheme).log_in(service)
    fetched = []

    def note(found):
        if found.url.endswith("/log"):
            fetched.append(found)

    page.on("response", note)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{made}")
    page.get_by_role("link", name="map-0-1", exact=True).press("Enter")
    log = page.get_by_role("log")
    follow = page.get_by_label("Follow")

    expect(log).to_contain_text(f"line {OLD_LINES}")
    expect(log).to_contain_text("red é")
    file.write_text(f"{HOSTILE}\n")
    expect(log).to_contain_text(HOSTILE)  # as text: nothing of it runs
    assert "\n1000\n" not in log.inner_text()
    expect(page.get_by_text("the last lines are shown")).to_be_visible()
    assert {found.status for found in fetched} == {206}
    assert sum(int(found.headers["content-length"]) for found in fetched) < 80_000
    assert log.evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight < 5")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    follow.press("Space")
    with file.open("a") as more:
        more.write("unread\n")
    page.wait_for_timeout(2500)
    assert "unread" not in log.inner_text()
    follow.press("Space")
    expect(log).to_contain_text("unread")
    log.evaluate("log => { log.scrollTop = 0; }")
    expect(follow).not_to_be_checked()


def test_parts_of_a_log_count_from_its_begin(service, owner):
    asked = job(service, "long-log")
    asked["run"]["mapper"] = (
        "sh -c 'head -c 3000000 /dev/zero | tr \"\\0\" z >&2; echo end >&2; cat'"
    )
    made = owner.post("/v1/jobs", {"job": asked}).json["job_id"]
    service.settled()
    path = f"/v1/jobs/{made}/attempts/map-0-1/log"

    last = owner.get(path, Range="bytes=-5")
    assert (last.status, last.text) == (206, "zend\n")
    assert last.headers["content-range"] == "bytes 2999999-3000003/3000004"
    assert owner.get(path, Range="bytes=3000003-").text == "\n"
    assert owner.get(path, Range="bytes=0-3").text == "zzzz"
    assert owner.get(path, Range="bytes=3000004-").status == 416
    whole = owner.get(path, Range="bytes=0-")
    assert whole.headers["content-range"] == "bytes 0-1048575/3000004"
    assert len(owner.get(path).content) == 1 << 20


def test_rows_of_failed_and_killed_jobs_say_why(service, owner, visit):
    broken = job(service, "broken")
    broken["run"]["mapper"] = "sh -c 'echo no such column >&2; exit 3'"
    owner.post("/v1/jobs", {"job": broken})
    killed = owner.post("/v1/jobs", {"job": job(service, "unwanted", 60)}).json["job_id"]
    owner.delete(f"/v1/jobs/{killed}?reason=not+needed")
    service.settled()

    rows = {row["name"]: row["reason"] for row in owner.get("/v1/jobs").json["items"]}
    assert re.fullmatch("map task 0 failed .* exited with 3: no such column", rows["broken"])
    assert rows["unwanted"] == "not needed"
    page = visit("wide", "light").log_in(service)
    expect(page.get_by_role("row").filter(has_text="broken")).to_contain_text("no such column")
    row = page.get_by_role("row").filter(has_text="unwanted")
    expect(row).to_contain_text("not needed")


def test_files_of_the_page_come_packed_and_once(service, done, visit):
    stranger = Client(service)
    plain = stranger.get("/assets/dom.js")
    packed = stranger.get("/assets/dom.js", Accept_Encoding="gzip")

    assert gzip.decompress(packed.content) == plain.content
    assert packed.headers["content-encoding"] == "gzip"
    again = stranger.get("/assets/dom.js", If_None_Match=plain.headers["etag"])
    assert (again.status, again.content) == (304, b"")
    other = stranger.get("/assets/job.js", If_None_Match=plain.headers["etag"])
    assert other.status == 200
    page = visit("wide", "light").log_in(service)
    debugger = page.context.new_cdp_session(page)
    debugger.send("Network.enable")
    sizes = []
    debugger.on("Network.loadingFinished", lambda found: sizes.append(found["encodedDataLength"]))
    page.reload()
    expect(page.get_by_role("table")).to_be_visible()
    assert sum(sizes) < 40_000  # with the list


def test_the_list_of_profiles_asks_for_one_run_of_each(service, owner, done):
    found = owner.get("/v1/profiles?newest=1").json["profiles"]
    assert {name: len(one["runs"]) for name, one in found.items() if name in SECONDS} == (
        dict.fromkeys(SECONDS, 1)
    )
    assert owner.get("/v1/profiles?newest=0").status == 422


def test_why_comes_at_once_and_what_would_help_later(service, owner, visit):
    waiting = [owner.post("/v1/jobs", {"job": job(service, "full", 300)}) for _ in range(6)]
    ids = [answer.json["job_id"] for answer in waiting]
    quick = owner.get(f"/v1/jobs/{ids[-1]}/why?would_help=false").json
    assert len(quick["ahead"]) >= 5
    assert "would_help" not in quick
    assert "would_help" in owner.get(f"/v1/jobs/{ids[-1]}/why").json
    page = visit("wide", "light").log_in(service)
    held = []

    def hold(route):  # what would help takes for ever
        held.append(route)

    page.route("**/why", hold)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{ids[-1]}")
    expect(page.get_by_text("open jobs came before it")).to_be_visible()
    expect(page.get_by_text("Simulating what would help")).to_be_visible()
    held[0].continue_()
    expect(page.get_by_text("Would start earlier with")).to_be_visible()
    for job_id in ids:
        owner.delete(f"/v1/jobs/{job_id}")


def test_rows_that_were_loaded_stay_when_a_job_comes(done, service, owner, visit):
    page = visit().log_in(service)
    cut_to(page, 3)  # the first part; more parts are fetched with more rows
    page.reload()
    rows = page.locator("main tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Load more").click()
    expect(rows).not_to_have_count(3)
    before = rows.count()

    made = owner.post("/v1/jobs", {"job": job(service, "comes-later", 2)}).json["job_id"]

    expect(page.locator(f"tr[data-key={made}]")).to_contain_text("✓ done")
    assert rows.count() > before


def test_a_log_that_is_not_there_is_asked_for_once(service, writing, visit):
    one = visit("phone", "light")
    page = one.log_in(service)
    asked = []

    def note(found):
        if found.url.endswith("/log"):
            asked.append(found)

    page.on("request", note)
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{writing[0]}/logs/map-7-1")

    expect(page.get_by_text("there is no attempt 'map-7-1'", exact=False)).to_be_visible()
    expect(page.get_by_label("Follow")).to_be_disabled()
    page.wait_for_timeout(2500)
    assert len(asked) == 1
    assert all("404" in said for said in one.said)
    one.said.clear()
