// Capacity: the open jobs with other nodes, weights or a deadline, next to the present; and how many
// nodes the jobs of a workload file need.

import { alert, counted, duration, make, refusal, share, show, table } from "./dom.js";
import { ask, askSlowly } from "./server.js";

const MEASURES = [
  ["wait_s_p50", "wait until the start, p50", duration, -1],
  ["wait_s_p95", "wait until the start, p95", duration, -1],
  ["ends_after_s", "all done after", duration, -1],
  ["deadlines_met", "deadlines met", share, 1],
  ["cost_usd", "cost of the nodes until then", signedDollars, -1],
];

export async function capacityView(main, _match, open) {
  document.title = "Capacity · Sluice";
  const chosen = new URLSearchParams(location.search);
  const present = await ask("/v1/queues");
  let ended = false;
  const answer = make("div", { "aria-live": "polite" });
  const nodes = make("input", { id: "nodes", type: "number", step: "1", value: chosen.get("nodes") ?? "1" });
  const weights = present.queues.map(({ queue }) => [queue, make("input", {
    type: "number", min: "0", step: "any", value: chosen.get(`weight.${queue}`), placeholder: "as it is",
  })]);
  const deadline = make("input", { id: "until", type: "datetime-local", value: chosen.get("deadline") });
  const compare = async () => {
    const change = { nodes_more: Math.trunc(Number(nodes.value)), weights: {} };
    for (const [queue, field] of weights) if (field.value) change.weights[queue] = Number(field.value);
    if (deadline.value) change.deadline_at = new Date(deadline.value).toISOString();
    show(answer, make("p", { class: "quiet" }, "Simulating both …"));
    await answered(answer, "/v1/capacity", { change }, () => ended, sides);
  };
  const asked = (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ nodes: nodes.value });
    for (const [queue, field] of weights) if (field.value) query.set(`weight.${queue}`, field.value);
    if (deadline.value) query.set("deadline", deadline.value);
    open(`/capacity?${query}`, { keepsFocus: true });
  };
  show(main,
    make("h1", {}, "Capacity"),
    make("p", { class: "lead" }, `What would change for the open jobs? Now ${counted(present.nodes_up, "node")} ${present.nodes_up === 1 ? "is" : "are"} up, with ${counted(present.slots, "slot")}.`),
    make("form", { onsubmit: asked },
      make("p", { class: "tools" },
        make("label", { for: "nodes" }, "Nodes more (or fewer, below 0)", nodes),
        make("label", { for: "until" }, "Deadline of all jobs", deadline),
        weights.map(([queue, field]) => make("label", {}, `Weight of ${queue}`, field)),
        make("button", {}, "Compare"))),
    answer,
    sizeOfFile(() => ended));
  if (chosen.size) compare();
  return { end: () => { ended = true; } };
}

/** Ask what takes a while, and show the answer or why there is none. */
async function answered(place, path, body, isOver, draw) {
  try {
    const found = await askSlowly(path, body, isOver);
    if (!isOver()) show(place, found.state === "done" ? draw(found.result) : alert(found.problem));
  } catch (error) {
    if (!isOver()) show(place, refusal(error));
  }
}

function sides(found) {
  const { nodes, all } = found;
  const { ends_after_s: ends, wait_s_p95: wait, cost_usd: cost } = all.difference;
  const money = cost ? `, for ${changedDollars(cost.expected)}` : "";
  const lead = found.never ? `${counted(found.never, "job")} would never end.`
    : isClear(ends) ? `The jobs would be done ${duration(Math.abs(ends.expected))} ${ends.expected < 0 ? "earlier" : "later"}${money}.`
      : isClear(wait) ? `Jobs would start ${duration(Math.abs(wait.expected))} ${wait.expected < 0 ? "earlier" : "later"} (p95), and it is not clear that the last one would end at another time${money}.`
        : "It is not clear that the jobs would start or end at another time.";
  return [
    make("p", { class: "lead" }, lead),
    sideBySide(`All ${counted(all.jobs, "open job")}, ${found.futures} futures of each side`, nodes, all),
    found.queues.length > 1 ? found.queues.map((row) => sideBySide(`Queue ${row.queue}, ${counted(row.jobs, "job")}`, nodes, row)) : null,
    found.sizes.length ? table("With the present weights, by nodes", [
      { name: "nodes", value: (row) => (row.nodes === nodes.now ? `${row.nodes} (now)` : String(row.nodes)), by: (row) => row.nodes, number: true },
      { name: "all done after", value: (row) => spread(row.ends_after_s, duration), by: (row) => row.ends_after_s?.expected, number: true },
      { name: "deadlines met", value: (row) => spread(row.deadlines_met, share), by: (row) => row.deadlines_met?.expected, number: true },
      { name: "cost", value: (row) => spread(row.cost_usd, dollars), by: (row) => row.cost_usd?.expected, number: true },
    ], found.sizes) : null,
    make("p", { class: "quiet" }, "Ranges hold in 90 % of futures. Both sides have the same draws, so that a difference may be clear where the ranges overlap."),
  ].flat();
}

/** Whether all futures that count have the difference in one direction. */
function isClear(found) {
  return Boolean(found) && (found.low > 0 || found.high < 0);
}

function sideBySide(caption, nodes, row) {
  const known = MEASURES.filter(([name]) => row.now[name] || row.then[name]);
  if (!known.length) return make("p", { class: "quiet" }, `${caption}: all of them have started, or some never end.`);
  return table(caption, [
    { name: "measure", value: ([, words]) => words },
    { name: `now: ${counted(nodes.now, "node")}`, value: ([name, , text]) => spread(row.now[name], text), number: true },
    { name: `with ${counted(nodes.then, "node")}`, value: ([name, , text]) => spread(row.then[name], text), number: true },
    { name: "difference", value: ([name, , text, good]) => verdict(row.difference[name], text, good), number: true },
  ], known, { fixed: true });
}

/** A range of futures, or a single figure where it has no width. */
function spread(found, text) {
  if (!found) return "–";
  const [middle, low, high] = [found.expected, found.low, found.high].map(text);
  return low === high ? middle : `${middle} (${low} – ${high})`;
}

/** A difference: a glyph and a word where it is clear. good: 1 if more is better, −1 if less is. */
function verdict(found, text, good) {
  if (!found) return "–";
  const signed = (value) => `${value > 0 ? "+" : ""}${text(value)}`;
  const range = { expected: found.expected, low: found.low, high: found.high };
  if (!isClear(found)) return found.low === found.high ? "none" : `unclear: ${spread(range, signed)}`;
  const isBetter = Math.sign(found.expected) === good;
  return make("span", { class: `state ${isBetter ? "done" : "failed"}` }, `${isBetter ? "✓" : "✕"} ${spread(range, signed)}`);
}

function sizeOfFile(isOver) {
  const answer = make("div", { "aria-live": "polite" });
  const text = make("textarea", { id: "sized", rows: 8, spellcheck: "false" });
  const hours = make("input", { id: "night", type: "number", min: "0", step: "any", required: true });
  const size = async (event) => {
    event.preventDefault();
    let workload;
    try {
      workload = JSON.parse(text.value);
    } catch {
      show(answer, alert("The workload is not valid JSON. Give the file as JSON here, or run: sluice size FILE"));
      return;
    }
    show(answer, make("p", { class: "quiet" }, "Simulating nights …"));
    await answered(answer, "/v1/capacity", { workload, deadline_s: 3600 * Number(hours.value) }, isOver, sized);
  };
  return make("details", {},
    make("summary", {}, "How many nodes do the jobs of a file need?"),
    make("form", { onsubmit: size },
      make("p", {}, make("label", { for: "sized", class: "quiet" }, "Workload, as JSON"), text),
      make("p", { class: "tools" },
        make("label", { for: "night" }, "Done after hours", hours),
        make("button", {}, "Find the size"))),
    answer);
}

function dollars(amount) {
  return `$${Math.abs(amount).toFixed(2)}`;
}

function signedDollars(amount) {
  return `${amount < 0 ? "−" : ""}${dollars(amount)}`;
}

function changedDollars(amount) {
  return Math.abs(amount) < 0.005 ? "about the same money" : `${dollars(amount)} ${amount > 0 ? "more" : "less"}`;
}

function sized(found) {
  return [
    make("p", { class: "lead" }, found.nodes ? `${counted(found.nodes, "node")} do it in ${share(found.probability)} of nights.` : "No size that was tried does it often enough."),
    table(counted(found.curve.length, "size"), [
      { name: "nodes", value: (row) => String(row.nodes), number: true },
      { name: "in time", value: (row) => `${share(row.probability)} (${share(row.low)} – ${share(row.high)})`, by: (row) => row.probability, number: true },
      { name: "a night takes", value: (row) => duration(row.span_s), by: (row) => row.span_s, number: true },
      { name: "cost", value: (row) => (row.cost_usd === null ? "–" : dollars(row.cost_usd)), by: (row) => row.cost_usd, number: true },
    ], found.curve),
  ];
}
