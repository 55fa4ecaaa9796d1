// The queue: what runs, what waits, when it ends, and why it does not start.

import { OPEN, counted, dollars, duration, interval, loading, make, pathOf, ranFor, share, show, stateOf, table, unsort, clock } from "./dom.js";
import { comparedPath } from "./compare.js";
import { LOOK_MS, othersInQueue } from "./observed.js";
import { ask } from "./server.js";

const STATES = ["waiting", "held", "running", "done", "failed", "killed", "refused"];
const ORDERS = [["", "newest first"], ["eta", "first to end"], ["ended", "last ended"]];
const REFRESH_MS = 2000;
const PAGE = 100;
const PARTS_MAX = 10; // that are fetched again at once
const MANY = 200; // rows: to draw more than these takes a while

export async function queueView(main, _match, open, showError) {
  document.title = "Queue · Sluice";
  const chosen = new URLSearchParams(location.search);
  const place = make("div", {}, loading());
  const lead = make("p", { class: "lead" });
  let rows = [];
  let next = null;
  let parts = 1; // how many were loaded
  let drawn = new WeakMap(); // rows to their elements
  let all = "";
  let keptFrom = null;
  const others = othersInQueue(open);
  let drawsOthers = () => null;
  const compared = new Map();  // id to name, in the order in which they were chosen
  const compare = make("button", { id: "compare", type: "button", onclick: () => open(comparedPath(...compared.keys())) });
  const sayCompared = () => {
    const names = [...compared.values()];
    const [first, second] = names[0] === names[1] ? compared.keys() : names;
    compare.disabled = compared.size !== 2;
    compare.textContent = second ? `Compare ${first} with ${second}` : first ? `Compare ${first} with …` : "Compare: choose two";
  };
  const choose = (row, isChosen) => {
    if (isChosen) compared.set(row.job_id, row.name);
    else compared.delete(row.job_id);
    if (compared.size > 2) compared.delete(compared.keys().next().value);
    sayCompared();
    drawn = new WeakMap();
    draw();
  };

  const filterBy = (name, ...values) => {
    chosen.delete(name);
    for (const value of values) if (value) chosen.append(name, value);
    const query = chosen.toString();
    history.replaceState(null, "", `/queue${query ? `?${query}` : ""}`);
    parts = 1;
    fetchAll().catch(showError);
  };
  const states = chosen.getAll("state");
  const choice = make("select", { id: "state", onchange: (event) => filterBy("state", ...event.target.value.split(" ")) },
    make("option", { value: "" }, "all"),
    make("option", { value: OPEN.join(" "), selected: states.length > 1 }, "not ended"),
    STATES.map((state) => make("option", { value: state, selected: states.length === 1 && states[0] === state }, state)));
  const order = make("select", { id: "sort", onchange: (event) => { unsort(location.pathname); filterBy("sort", event.target.value); } },
    ORDERS.map(([value, word]) => make("option", { value, selected: (chosen.get("sort") ?? "") === value }, word)));
  const queue = make("select", { id: "queue", onchange: (event) => filterBy("queue", event.target.value) });
  const sayQueues = (names) => {
    const all = [...new Set([...names, ...chosen.getAll("queue")])].sort();
    if (queue.options.length === all.length + 1) return;
    show(queue, make("option", { value: "" }, "all"),
      all.map((name) => make("option", { value: name, selected: chosen.get("queue") === name }, name)));
  };
  const search = make("input", {
    id: "name", type: "search", value: chosen.get("name") ?? "", placeholder: "name of a job",
    onchange: (event) => filterBy("name", event.target.value.trim()),
  });

  const past = () => (keptFrom
    ? make("p", { class: "quiet" }, `The history is kept from ${keptFrom.slice(0, 10)} on; what was before is removed.`) : null);
  const draw = () => {
    if (!rows.length) {
      show(place, make("p", { class: "empty" }, chosen.toString()
        ? "No job is like this."
        : make("span", {}, "No job waits or runs. Submit one: ", make("code", {}, "sluice submit FILE"))), past());
      return;
    }
    for (const row of rows) if (row.state === "running") drawn.delete(row); // it has run for longer now
    const caption = next ? `${rows.length} of ${all}: filter, or load more` : all;
    show(place,
      table(caption, [
        { name: "job", value: (row) => make("a", { href: pathOf(row) }, row.name) },
        { name: "id", value: (row) => row.job_id, whole: true },
        { name: "queue", value: (row) => row.queue },
        { name: "state", value: stateOf },
        { name: "ends", value: (row) => interval(row.ends_at) },
        { name: "ran", value: (row) => duration(ranFor(row)), by: ranFor, number: true },
        { name: "deadline", value: (row) => row.deadline_at ? make("span", {}, clock(row.deadline_at), ` ${share(row.deadline_probability)}`) : "–" },
        { name: "why", value: (row) => row.reason ?? "" },
        { name: "cost", value: (row) => dollars(row.cost_usd), by: (row) => row.cost_usd?.expected, number: true },
        { name: "compare", fixed: true, value: (row) => make("label", { class: "chosen" }, make("input", {
          type: "checkbox", "aria-label": `Compare ${row.name} (${row.job_id})`, checked: compared.has(row.job_id),
          onchange: (event) => choose(row, event.target.checked),
        })) },
      ], rows, { key: "job_id", drawn, shown: Infinity, cut: next ? rows.length : null, onOpen: (row) => open(pathOf(row)) }),
      next ? make("p", {}, make("button", { type: "button", onclick: more }, "Load more")) : null, past());
  };
  const load = async (cursor, limit = PAGE) => {
    const query = new URLSearchParams(chosen);
    query.set("limit", String(limit));
    if (cursor) query.set("cursor", cursor);
    return ask(`/v1/jobs?${query}`);
  };
  const more = async () => {
    const found = await load(next);
    rows = [...rows, ...found.items];
    next = found.next;
    parts = Math.min(parts + 1, PARTS_MAX);
    draw();
  };
  const say = async () => {
    const found = await ask("/v1/queues");
    sayQueues(found.queues.map((row) => row.queue).filter((name) => name !== "other tenant"));
    const jobs = found.queues.reduce((sum, row) => sum + row.jobs, 0);
    const waiting = found.queues.reduce((sum, row) => sum + row.waiting_jobs, 0);
    const held = found.queues.reduce((sum, row) => sum + (row.held_jobs ?? 0), 0);
    const link = (state, text) => make("a", { href: `/queue?state=${state}` }, `${text} ${state}`);
    show(lead, link("running", counted(jobs - waiting - held, "job")), ", ", link("waiting", waiting.toLocaleString()), ...(held ? [", ", link("held", held)] : []),
      found.drains_at?.expected ? make("span", {}, "; all of it ends at ", interval(found.drains_at)) : "", ".",
      found.conditions.map((each) => make("strong", {}, ` ${each.text[0].toUpperCase()}${each.text.slice(1)}.`)));
    drawsOthers = () => (found.observes ? others.draw(chosen, found.steers) : null);
  };
  const fetchAll = async () => {
    const found = await load(null, parts * PAGE);
    next = found.next;
    all = `${found.total_is_exact ? "" : "more than "}${counted(found.total, "job")}`;
    rows = found.items;
    keptFrom = found.kept_from;
    draw();
    await say();
    await drawsOthers();
  };

  show(main, make("h1", {}, "Queue"), lead,
    make("form", {
      class: "tools", role: "search",
      onsubmit: (event) => { event.preventDefault(); main.parentElement.focus(); },
    },
      make("label", { for: "state" }, "State", choice), make("label", { for: "queue" }, "Queue", queue),
      make("label", { for: "sort" }, "Order", order), make("label", { for: "name" }, "Search", search), compare),
    place, others.element);
  sayCompared();
  sayQueues([]);
  await fetchAll();
  const again = setInterval(() => { if (!document.hidden) drawsOthers()?.catch(() => {}); }, LOOK_MS);
  let timer = null;
  let drawing = null;
  const drawSoon = () => {
    if (rows.length <= MANY) draw();
    else drawing ??= setTimeout(() => { drawing = null; draw(); }, REFRESH_MS / 2);
  };
  let fetches = false; // whether the timer asks for all rows, and not for the counts alone
  let missed = false; // whether jobs changed while the page was not to be seen
  const fetchSoon = () => {
    if (fetches) return;
    // Also where the counts are to be asked for later: this row may be the last for long.
    clearTimeout(timer);
    fetches = true;
    timer = setTimeout(() => { timer = null; fetches = false; fetchAll().catch(() => {}); }, rows.length <= MANY ? REFRESH_MS / 4 : REFRESH_MS);
  };
  const onVisible = () => {
    if (document.hidden || !missed) return;
    missed = false;
    fetchSoon();
  };
  document.addEventListener("visibilitychange", onVisible);
  return {
    onChange: (changed) => {
      if (document.hidden) {
        missed = true;
        return;
      }
      const known = new Map(rows.map((row) => [row.job_id, row]));
      let isNew = changed === null;
      for (const row of changed ?? []) {
        if (known.has(row.job_id)) known.set(row.job_id, row);
        else isNew = true;
      }
      rows = [...known.values()];
      drawSoon();
      if (isNew) fetchSoon();
      else if (timer === null) timer = setTimeout(() => { timer = null; say().catch(() => {}); }, REFRESH_MS);
    },
    end: () => {
      clearTimeout(timer);
      clearTimeout(drawing);
      clearInterval(again);
      document.removeEventListener("visibilitychange", onVisible);
    },
  };
}
