// What ran where, a lane for each slot of each node; and the graph of a job: the jobs before it, and its stages.

import { CLOCK, GLYPHS, OPEN, clock, counted, duration, make, pathOf, wide } from "./dom.js";

const LANE = 18;
const LEFT = 120;
const WIDTH = 1000;
const LANES_MAX = 60;
const SHORT_MS = 8000;  // below it the clock shows the same second again and again

/** The drawing. axis: {from, to, end}, instants in ms, where the axis is that of several drawings; it shows lengths. */
export function gantt(attempts, axis = null) {
  const now = Date.now();
  const spans = attempts.map((one) => ({
    ...one, from: +new Date(one.started_at), to: one.ended_at ? +new Date(one.ended_at) : now,
  }));
  const first = axis?.from ?? Math.min(...spans.map((one) => one.from));
  const last = axis?.to ?? Math.max(...spans.map((one) => one.to), first + 1);
  const x = (at) => LEFT + ((WIDTH - LEFT - 10) * (at - first)) / (last - first);
  const names = [...new Set(spans.map((one) => `${one.node} ${one.slot_kind} ${one.slot}`))].sort();
  const lanes = new Map(names.slice(0, LANES_MAX).map((name, number) => [name, number]));
  const height = lanes.size * LANE + 26;
  const label = `${attempts.length} attempts on ${lanes.size} slots, from ${CLOCK.format(first)} to ${CLOCK.format(last)}`;
  const drawing = make("svg", { class: "gantt", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label });
  for (const [name, lane] of lanes) {
    const y = lane * LANE + 4;
    drawing.append(
      make("line", { class: "lane", x1: LEFT, x2: WIDTH, y1: y + LANE - 2, y2: y + LANE - 2 }),
      make("text", { x: 4, y: y + 12 }, name));
  }
  for (const one of spans) {
    const lane = lanes.get(`${one.node} ${one.slot_kind} ${one.slot}`);
    if (lane === undefined) continue;
    const isLost = one.ended_at !== null && one.state !== "done";
    const kind = isLost ? "lost" : ["map", "reduce"].includes(one.phase) ? one.phase : "other";
    drawing.append(make("rect", {
      class: kind, x: x(one.from), y: lane * LANE + 4, rx: 2,
      width: Math.max(1.5, x(one.to) - x(one.from) - 0.5), height: LANE - 5,
    }, make("title", {}, `${one.key} on ${one.node}: ${one.state}, ${((one.to - one.from) / 1000).toFixed(1)} s. ${one.why}`)));
    if (isLost) drawing.append(make("text", { x: x(one.from) + 2, y: lane * LANE + 15 }, "✕"));
  }
  if (axis) drawing.append(make("line", { class: "now", x1: x(axis.end), x2: x(axis.end), y1: 0, y2: height - 22 }, make("title", {}, "the end")));
  for (let part = 0; part <= 4; part++) {
    const at = first + ((last - first) * part) / 4;
    drawing.append(make("text", {
      x: x(at), y: height - 6, "text-anchor": part === 0 ? "start" : part === 4 ? "end" : "middle",
    }, axis || last - first < SHORT_MS ? elapsed(at - first, last - first) : CLOCK.format(at)));
  }
  const key = (name, word) => make("span", {}, make("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" },
    make("rect", { class: `key ${name}`, width: 12, height: 12, rx: 2 })), word);
  return wide("What ran where",
    make("p", { class: "keys" }, key("map", "map"), key("reduce", "reduce"), key("other", "other phases"), key("lost", "✕ failed or killed")),
    drawing,
    names.length > LANES_MAX ? make("p", { class: "quiet" }, `${LANES_MAX} of ${names.length} slots are drawn; the table has all.`) : null);
}

/** A place on an axis that begins at 0. Both in ms. */
export function elapsed(at, span) {
  return span < SHORT_MS ? `+${(at / 1000).toFixed(2)} s` : `+${duration(at / 1000)}`;
}

const [BROAD, HIGH, GAP, ACROSS] = [172, 70, 44, 14];
const STAGES_MAX = 60;
const LETTERS = 16;
const narrow = matchMedia("(max-width: 640px)");

/** The drawing; null for a job of one stage that runs after no other. */
export function stageGraph(job) {
  const boxes = [
    ...job.after.map((one) => ({ ...one, key: `job ${one.job_id}`, after: [], href: pathOf(one) })),
    ...job.phases.slice(0, STAGES_MAX).map((stage) => ({
      ...stage, key: stage.name,
      after: stage.after.length ? stage.after : job.after.map((one) => `job ${one.job_id}`),
    })),
  ];
  if (boxes.length < 2) return null;
  const [along, across] = place(boxes);
  const size = (count, each, gap) => count * (each + gap) - gap + 4;
  const [width, height] = narrow.matches
    ? [size(across, BROAD, ACROSS), size(along, HIGH, GAP)]
    : [size(along, BROAD, GAP), size(across, HIGH, ACROSS)];
  const drawing = make("svg", {
    class: "graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": `${counted(job.after.length, "earlier job")} and ${counted(job.phases.length, "stage")}`,
  });
  const known = new Map(boxes.map((one) => [one.key, one]));
  for (const one of boxes)
    for (const name of one.after) if (known.has(name)) drawing.append(arrow(known.get(name), one));
  for (const one of boxes) drawing.append(box(one));
  return wide("Stages", drawing, job.phases.length > STAGES_MAX
    ? make("p", { class: "quiet" }, `${STAGES_MAX} of ${job.phases.length} stages are drawn; the table has all.`) : null);
}

/** Give each box its place: along by the longest way to it, across in the order of the job. */
function place(boxes) {
  const depths = new Map();
  const filled = [];
  for (const one of boxes) {
    const depth = Math.max(0, ...one.after.map((name) => (depths.get(name) ?? -1) + 1));
    depths.set(one.key, depth);
    const number = filled[depth] ?? 0;
    filled[depth] = number + 1;
    [one.x, one.y] = narrow.matches
      ? [2 + number * (BROAD + ACROSS), 2 + depth * (HIGH + GAP)]
      : [2 + depth * (BROAD + GAP), 2 + number * (HIGH + ACROSS)];
  }
  return [filled.length, Math.max(...filled)];
}

function arrow(from, to) {
  const [ax, ay, bx, by] = narrow.matches
    ? [from.x + BROAD / 2, from.y + HIGH, to.x + BROAD / 2, to.y]
    : [from.x + BROAD, from.y + HIGH / 2, to.x, to.y + HIGH / 2];
  const middle = narrow.matches ? (ay + by) / 2 : (ax + bx) / 2;
  const bend = narrow.matches ? `${ax} ${middle} ${bx} ${middle}` : `${middle} ${ay} ${middle} ${by}`;
  const head = narrow.matches ? `M${bx - 4} ${by - 7}L${bx} ${by}L${bx + 4} ${by - 7}` : `M${bx - 7} ${by - 4}L${bx} ${by}L${bx - 7} ${by + 4}`;
  return make("path", { class: "edge", d: `M${ax} ${ay}C${bend} ${bx} ${by}${head}` });
}

function box(one) {
  const tasks = one.href ? "an earlier job" : `${one.done} of ${counted(one.tasks, "task")} done`;
  const end = one.ends_at.expected === null ? "end not known"
    : `${one.state === "done" ? "ended" : one.href && !OPEN.includes(one.state) ? one.state : "ends"} ${clock(one.ends_at.expected).textContent}`;
  const words = `${one.name}: ${one.state}, ${tasks}, ${end}`;
  const name = one.name.length > LETTERS ? `${one.name.slice(0, LETTERS - 1)}…` : one.name;
  const { x, y } = one;
  const share = one.href ? Number(one.state === "done") : one.done / one.tasks;
  const drawn = [
    make("title", {}, words),
    make("rect", { class: `box ${one.state}`, x, y, width: BROAD, height: HIGH, rx: 6 }),
    make("rect", { class: `part ${one.state}`, x: x + 10, y: y + HIGH - 9, width: (BROAD - 20) * share, height: 3 }),
    make("text", { class: `name ${one.state}`, x: x + 10, y: y + 20 }, `${GLYPHS[one.state]} ${name}`),
    make("text", { x: x + 10, y: y + 38 }, tasks),
    make("text", { x: x + 10, y: y + 55 }, end),
  ];
  return one.href
    ? make("a", { drawn: true, href: one.href, "aria-label": words }, drawn)
    : make("g", { role: "img", "aria-label": words }, drawn);
}
