"""Tools for agents, asked by the SDK's own client over stdin and stdout."""

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import Service, serving

from sluice.ingest.document import FILE_BYTES_MAX

skips.required("mcp")
from mcp import ClientSession, StdioServerParameters, stdio_client  # noqa: E402  # as above

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
READS = {
    "queue", "why", "story", "predict", "quote", "size", "plan", "whatif", "explain", "fairness",
    "calibration", "profiles",
}  # fmt: skip


async def held(session, conversation):
    """The result of a conversation; it gets the session, and a function that calls a tool."""
    await session.initialize()

    async def call(tool, **given):
        found = await session.call_tool(tool, given)
        text = "".join(part.text for part in found.content)
        return found.is_error, found.structured_content or text

    return await conversation(session, call)


def asked(service, conversation):
    """The result of a conversation with `sluice mcp`; it gets a function that calls a tool."""

    async def talk():
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "sluice", "mcp"], env=service.env,
            cwd=service.folder,
        )  # fmt: skip
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            return await held(session, conversation)

    return asyncio.run(asyncio.wait_for(talk(), 120))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A state folder in which no service runs."""
    return Service(tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def tools_and_answers(alone):
    """The tools, and what they say without a service, in one conversation: a start takes long."""
    large = alone.folder / "large.yaml"
    large.touch()
    os.truncate(large, FILE_BYTES_MAX + 1)
    nights = sorted((EXAMPLES / "nightly").iterdir())[: 3 * 6 : 6]  # of one application
    assert alone.run("import", *map(str, nights))[0] == 0
    questions = {
        "planned": ("plan", {"file": str(EXAMPLES / "budget.yaml")}),
        "queue": ("queue", {}),
        "why": ("why", {"job_id": "job-000001"}),
        "near": ("quote", {"file": "jobs.yaml", "dedline": "17:00"}),
        "far": ("explain", {"subject": "x", "verbose_output": True}),
        "missing": ("why", {}),
        "two": ("whatif", {"file": "jobs.yaml"}),
        "kind": ("why", {"job_id": 5}),
        "number": ("queue", {"limit": "many"}),
        "nul": ("predict", {"file": "jobs\0.yaml"}),
        "large": ("submit", {"file": str(large)}),
        "two_runs": ("profiles", {"limit": 2}),
        "one_run": ("profiles", {"limit": 0}),
    }

    async def conversation(session, call):
        tools = (await session.list_tools()).tools
        return tools, {name: await call(tool, **given) for name, (tool, given) in questions.items()}

    return asked(alone, conversation)


@pytest.fixture
def answers(tools_and_answers):
    return tools_and_answers[1]


def test_the_tools_say_which_of_them_change_something(tools_and_answers):
    tools = {tool.name: tool for tool in tools_and_answers[0]}

    assert set(tools) == READS | {"submit", "kill"}
    assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} == READS
    assert all(tool.description for tool in tools.values())


def test_an_agent_plans_a_file_without_a_service(answers):
    assert not answers["planned"][0], answers["planned"]
    assert answers["planned"][1]["untrusted"]["plans"]
    assert answers["queue"][1]["untrusted"]["service"] is None
    assert answers["why"][0]
    assert "No service answers" in answers["why"][1]


def test_of_a_profile_the_newest_runs_are_returned(answers):
    two, one = [answers[name][1]["untrusted"]["profiles"] for name in ("two_runs", "one_run")]

    assert [len(profile["runs"]) for profile in two.values()] == [2]
    assert [len(profile["runs"]) for profile in one.values()] == [1]


def test_an_argument_that_a_tool_does_not_have_is_refused(tools_and_answers):
    tools, answers = tools_and_answers

    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    assert answers["near"] == (True, "quote has no argument 'dedline': did you mean deadline?")
    assert answers["far"] == (
        True, "explain has no argument 'verbose_output': use one of subject"
    )  # fmt: skip


def test_wrong_values_are_refused_in_one_sentence(answers):
    assert answers["missing"] == (True, "why: job_id: Field required")
    assert answers["two"] == (True, "whatif: config: Field required; against: Field required")
    assert answers["kind"] == (True, "why: job_id: Input should be a valid string")
    assert answers["number"][0]
    assert answers["number"][1].startswith("queue: limit: Input should be a valid integer")
    assert answers["nul"] == (True, "predict: file has a NUL character")
    assert answers["large"][0]
    assert "it is larger than" in answers["large"][1]


def test_fairness_and_queue_are_those_of_the_service_that_runs(tmp_path):
    with serving(tmp_path) as service:
        assert service.run("submit", service.nap(), "--wait")[0] == 0

        async def conversation(_session, call):
            return await call("queue", limit=-5), await call("fairness")

        (_, queue), (is_error, found) = asked(service, conversation)
        assert [job["name"] for job in queue["untrusted"]["jobs"]] == ["nap"]

    assert not is_error, found
    used = [share["used"] for share in found["untrusted"]["shares"].values()]
    assert len(used) == 1
    assert used[0] > 0


def test_a_change_is_made_only_when_it_was_shown_and_confirmed(tmp_path):
    with serving(tmp_path) as service:
        file = str(tmp_path / service.nap("first"))
        other = str(tmp_path / service.nap("other"))

        async def conversation(_session, call):
            first = (await call("submit", file=file))[1]
            assert "would" in first["summary"]
            assert (await call("queue"))[1]["untrusted"]["total"] == 0
            wrong = await call("submit", file=other, confirm=first["confirm"])
            used = await call("submit", file=file, confirm=first["confirm"])
            again = (await call("submit", file=file))[1]
            done = await call("submit", file=file, confirm=again["confirm"])
            twice = await call("submit", file=file, confirm=again["confirm"])
            jobs = (await call("queue"))[1]["untrusted"]["total"]
            return wrong, used, done, twice, jobs

        wrong, used, done, twice, jobs = asked(service, conversation)

        assert wrong[0]
        assert "confirms something else" in wrong[1]
        assert used[0], "a word that was tried is worth nothing"
        assert not done[0], done
        assert done[1]["untrusted"]["jobs"][0]["name"] == "first"
        assert twice[0]
        assert jobs == 1


def test_a_file_that_changed_after_it_was_shown_is_not_submitted(tmp_path):
    with serving(tmp_path) as service:
        file = tmp_path / service.nap("first")

        async def conversation(_session, call):
            shown = (await call("submit", file=str(file)))[1]
            file.write_text(file.read_text().replace("cat", "tac"))
            return await call("submit", file=str(file), confirm=shown["confirm"])

        assert asked(service, conversation)[0]


def test_long_texts_of_users_are_cut():
    from sluice.service.mcp.answers import untrusted

    found = untrusted({"name": "é" * 5000, "list": [{"log": "x" * 10}]})["untrusted"]

    assert len(found["name"].encode()) <= 4096 + 20
    assert found["name"].endswith("(cut)")
    assert found["list"] == [{"log": "x" * 10}]


# --- over HTTP ----------------------------------------------------------------------------------

OVER_HTTP = (READS - {"whatif", "explain"}) | {"submit", "kill", "choose_plan"}


def asked_over_http(service, secret, conversation):
    """The answers of a conversation at `/mcp`, with a token."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def talk():
        url = urlsplit(service.page)
        headers = {"Authorization": f"Bearer {secret}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            streamable_http_client(f"http://{url.netloc}/mcp", http_client=http) as streams,
            ClientSession(*streams[:2]) as session,
        ):
            return await held(session, conversation)

    return asyncio.run(asyncio.wait_for(talk(), 120))


@pytest.fixture(scope="module")
def online(tmp_path_factory):
    skips.required("fastapi")
    with serving(tmp_path_factory.mktemp("online"), "--config", "serve.yaml") as running:
        yield running


@pytest.fixture(scope="module")
def secret(online):
    return token(online, "robot")


def test_an_agent_asks_and_may_change_nothing_unasked(online, secret):
    owner = Client(online, is_owner=True)
    held = owner.post("/v1/jobs", {"job": job(online, "theirs"), "hold": True}).json["job_id"]
    mine = Client(online, secret).post("/v1/jobs", {"job": job(online, "mine"), "hold": True})

    async def conversation(session, call):
        tools = {tool.name for tool in (await session.list_tools()).tools}
        return (
            tools,
            await call("queue"),
            await call("why", job_id=mine.json["job_id"]),
            await call("why", job_id=held),
            await call("kill", job_id=mine.json["job_id"]),
            await call("profiles"),
            await call("queue", stat="waiting"),
        )

    tools, queue, why, others, kill, profiles, unknown = asked_over_http(
        online, secret, conversation
    )
    assert tools == OVER_HTTP
    assert not queue[0]
    assert [row["name"] for row in queue[1]["untrusted"]["jobs"]] == ["mine"]
    assert why[1]["untrusted"]["text"] == "robot holds it"
    assert others[0]
    assert "there is no job" in str(others[1])
    assert kill[0]
    assert "may change nothing" in str(kill[1])
    assert profiles[0]
    assert unknown == (True, "queue has no argument 'stat': did you mean state?")
    lines = [line["action"] for line in owner.get("/v1/audit").json["items"]]
    assert "mcp kill" in lines
    owner.delete(f"/v1/jobs/{held}")


def test_an_agent_submits_a_template_after_it_was_shown(online, secret):
    owner = Client(online, is_owner=True)
    owner.ask("PUT", "/v1/tenants/etl", {"mcp_may_submit": True})
    run = {**job(online)["run"], "mapper": "grep {word}"}
    template = {
        "job": {"maps": {"tasks": 1, "avg_s": 1}, "run": run},
        "parameters": {"word": {"type": "text"}},
    }
    assert owner.ask("PUT", "/v1/templates/find", template).status == 200
    asked_job = {"template": "find", "arguments": {"word": "b"}}

    async def conversation(_session, call):
        free = await call("submit", job=job(online, "free"))
        first = await call("submit", job=asked_job)
        other = {"template": "find", "arguments": {"word": "c"}}
        changed = await call("submit", job=other, confirm=first[1]["confirm"])
        again = await call("submit", job=asked_job)
        done = await call("submit", job=asked_job, confirm=again[1]["confirm"])
        twice = await call("submit", job=asked_job, confirm=again[1]["confirm"])
        return free, first, changed, done, twice

    free, first, changed, done, twice = asked_over_http(online, secret, conversation)
    assert "templates alone" in str(free[1])
    assert first[1]["summary"] == "The job would be submitted and run."
    assert changed[0]
    assert not done[0], done
    assert done[1]["untrusted"]["name"] == "find"
    assert twice[0]


def test_agents_come_with_a_token(online):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert Client(online).post("/mcp", body).status == 401
    assert Client(online, is_owner=True).post("/mcp", body).status == 401
    assert Client(online, "sl_wrong").post("/mcp", body).status == 401
