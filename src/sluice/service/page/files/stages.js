// The graph of a job: the jobs that it runs after, and its stages, each with its state and its end.

import { GLYPHS, OPEN, clock, counted, make, pathOf, wide } from "./dom.js";

const [WIDTH, HEIGHT, GAP, ACROSS] = [172, 70, 44, 14];
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
    ? [size(across, WIDTH, ACROSS), size(along, HEIGHT, GAP)]
    : [size(along, WIDTH, GAP), size(across, HEIGHT, ACROSS)];
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
      ? [2 + number * (WIDTH + ACROSS), 2 + depth * (HEIGHT + GAP)]
      : [2 + depth * (WIDTH + GAP), 2 + number * (HEIGHT + ACROSS)];
  }
  return [filled.length, Math.max(...filled)];
}

function arrow(from, to) {
  const [ax, ay, bx, by] = narrow.matches
    ? [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y]
    : [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
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
    make("rect", { class: `box ${one.state}`, x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
    make("rect", { class: `part ${one.state}`, x: x + 10, y: y + HEIGHT - 9, width: (WIDTH - 20) * share, height: 3 }),
    make("text", { class: `name ${one.state}`, x: x + 10, y: y + 20 }, `${GLYPHS[one.state]} ${name}`),
    make("text", { x: x + 10, y: y + 38 }, tasks),
    make("text", { x: x + 10, y: y + 55 }, end),
  ];
  return one.href
    ? make("a", { drawn: true, href: one.href, "aria-label": words }, drawn)
    : make("g", { role: "img", "aria-label": words }, drawn);
}
