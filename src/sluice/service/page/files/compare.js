// Two jobs, or two recorded runs, side by side: their figures, their stages, and what ran where.

import { OPEN, clock, counted, dollars, duration, loading, make, pathOf, show, stateOf, table, wide } from "./dom.js";
import { elapsed, gantt } from "./drawings.js";
import { ATTEMPTS_MAX, PART, ask, attemptsOf } from "./server.js";

const JOBS_MAX = 50;  // of a run
const REFRESH_MS = 2000;
const LESS = -1;  // what is better
const LANE = 16;
const narrow = matchMedia("(max-width: 640px)");

/** The address of the view of two jobs. */
export function comparedPath(first, second) {
  return `/compare?${new URLSearchParams({ a: first, b: second })}`;
}

export async function compareView(main, _match, _open, _showError) {
  document.title = "Compare · Sluice";
  const keys = ["a", "b"].map((name) => new URLSearchParams(location.search).get(name));
  if (!keys.every(Boolean)) {
    show(main, make("h1", {}, "Compare"), make("p", { class: "empty" },
      "Choose two jobs in the ", make("a", { href: "/queue" }, "queue"), ", and press Compare."));
    return {};
  }
  const place = make("div", {}, loading());
  show(main, place);
  let known = [];
  const draw = async () => {
    const sides = await Promise.all(keys.map(sideOf));
    known = sides.flatMap((side) => side.jobs.map((job) => job.job_id));
    document.title = `${labelsOf(keys, sides).join(" against ")} · Sluice`;
    show(place, ...drawn(keys, sides));
  };
  await draw();
  let timer = null;
  return {
    onChange: (rows) => {
      if (rows === null || rows.some((row) => known.includes(row.job_id)))
        timer ??= setTimeout(() => { timer = null; draw().catch(() => {}); }, REFRESH_MS);
    },
    end: () => clearTimeout(timer),
  };
}

/** One side: a job, or all jobs of a recorded run, whose key ends with ~. Instants are in ms. */
async function sideOf(key) {
  const isRun = key.endsWith("~");
  const listed = isRun ? (await ask(`/v1/jobs?limit=${PART}`)).items.filter((row) => row.job_id.startsWith(key)) : [{ job_id: key }];
  const jobs = await Promise.all(listed.slice(0, JOBS_MAX).map((row) => ask(`/v1${pathOf(row)}`)));
  const attempts = [];
  const now = Date.now();
  for (const job of jobs) {
    const { items } = await attemptsOf(job.job_id, [], ATTEMPTS_MAX - attempts.length);
    attempts.push(...items.map((one) => ({
      ...one, job_id: job.job_id, from: +new Date(one.started_at), to: one.ended_at ? +new Date(one.ended_at) : now,
    })));
  }
  const begin = Math.min(...jobs.map((job) => +new Date(job.submitted_at)));
  const isOpen = jobs.some((job) => OPEN.includes(job.state));
  const ends = jobs.map((job) => +new Date(job.ends_at.expected ?? NaN)).filter(Number.isFinite);
  const end = Math.max(begin, ...(isOpen ? [Date.now()] : ends), ...attempts.map((one) => one.to));
  return {
    name: isRun ? key.slice(0, -1) : jobs[0].name, isRun, jobs, attempts, begin, end, isOpen,
    stages: jobs.flatMap((job) => stagesOf(job, attempts, begin, isRun)),
    tasks: jobs.flatMap((job) => job.phases).reduce((sum, phase) => sum + phase.tasks, 0),
    bad: jobs.filter((job) => job.state !== "done").map((job) => job.state),
    isCut: attempts.length >= ATTEMPTS_MAX || listed.length > JOBS_MAX,
  };
}

/** The stages of a job that have begun: wait, from its inputs to its first task; took, from there to its last. */
function stagesOf(job, attempts, begin, isNamed) {
  const own = attempts.filter((one) => one.job_id === job.job_id);
  const ran = new Map(job.phases.map((phase) => [phase.name, own.filter((one) => one.phase === phase.name)]));
  const last = (name) => Math.max(begin, ...(ran.get(name) ?? []).map((one) => one.to));
  return job.phases.filter((phase) => ran.get(phase.name).length).map((phase) => {
    const found = ran.get(phase.name);
    const from = Math.min(...found.map((one) => one.from));
    const ready = Math.max(begin, ...phase.after.map(last));
    return {
      name: isNamed ? `${job.name} ${phase.name}` : phase.name, tasks: phase.tasks, from: from - begin, to: last(phase.name) - begin,
      wait: Math.max(0, from - ready) / 1000, took: (last(phase.name) - from) / 1000,
      mean: mean(found.map(lengthOf)), longest: Math.max(...found.map(lengthOf)),
    };
  });
}

const lengthOf = (one) => (one.to - one.from) / 1000;
const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;

// --- what is drawn ----------------------------------------------------------------------------

function drawn(keys, sides) {
  const [a, b] = sides;
  const labels = labelsOf(keys, sides);
  const names = labels.map((label, number) => `${"AB"[number]}: ${label}`);
  const runs = keys.map((key) => `${key.split("~")[0]}~`);
  const offersRuns = keys.every((key) => key.includes("~") && !key.endsWith("~")) && runs[0] !== runs[1];
  const span = Math.max(...sides.map((side) => side.end - side.begin), 1);
  return [
    make("h1", {}, labels.join(" against ")),
    make("p", { class: "lead" }, sentence(a, b)),
    make("ul", { class: "sides" }, sides.map((side, number) => make("li", {},
      make("strong", { class: `side ${"ab"[number]}` }, "AB"[number]), " ",
      side.isRun ? `${side.name}: ${counted(side.jobs.length, "job")}` : make("a", { href: pathOf(side.jobs[0]) }, side.name),
      side.isRun ? null : " ", side.isRun ? null : stateOf(side.jobs[0]),
      side.isRun ? ", began " : ` ${side.jobs[0].job_id}, submitted `, clock(side.jobs[0].submitted_at)))),
    make("p", { class: "tools" },
      make("a", { href: comparedPath(keys[1], keys[0]) }, "Change sides"),
      offersRuns ? make("a", { href: comparedPath(...runs) }, "Compare the whole runs") : null),
    sides.some((side) => side.isCut) ? make("p", { class: "notice" }, `Only ${ATTEMPTS_MAX} attempts and ${JOBS_MAX} jobs of each side are counted.`) : null,
    make("h2", {}, "Figures"),
    differences("Each difference is B against A", figures(a, b)),
    make("p", { class: "quiet" }, "A small difference may be chance: run each again to see.",
      sides.some((side) => costOf(side) !== null) ? null : " No cost is known: it is that of a promise, which recorded runs do not keep."),
    make("h2", {}, "Stages, from the submission on"),
    ...stages(sides, names, span),
    make("h2", {}, "What ran where, from the submission on"),
    ...sides.map((side, number) => make("section", { "aria-label": names[number] },
      make("h3", {}, names[number]),
      side.attempts.length ? gantt(side.attempts, { from: side.begin, to: side.begin + span, end: side.end }) : make("p", { class: "empty" }, "Nothing has run yet."))),
  ];
}

/** What the sides are called: by their ids where they have one name. */
function labelsOf(keys, sides) {
  return sides[0].name === sides[1].name ? keys : sides.map((side) => side.name);
}

function sentence(a, b) {
  const open = [a, b].filter((side) => side.isOpen).length;
  const [first, second] = [a, b].map((side) => (side.end - side.begin) / 1000);
  if (open) return `${open === 2 ? "Both are" : `${a.isOpen ? "A" : "B"} is`} not over: the figures are those so far.`;
  const ill = [a, b].flatMap((side, number) => side.bad.slice(0, 1).map((state) => `${side.isRun ? "a job of " : ""}${"AB"[number]} is ${state}`));
  if (ill.length) return `Not all was done: ${ill.join(", and ")}.`;
  const off = shown(first, duration) - shown(second, duration);
  if (!off) return `Both took ${duration(first)}.`;
  return `B took ${duration(second)}, ${duration(Math.abs(off))} ${off > 0 ? "less" : "more"} than A (${duration(first)}).`;
}

const areDone = (sides) => sides.every((side) => !side.bad.length);

function costOf(side) {
  return side.jobs.every((job) => job.cost_usd?.expected != null) ? side.jobs.reduce((sum, job) => sum + job.cost_usd.expected, 0) : null;
}

/** [words, value of A, value of B, its text, what is better]. */
function figures(a, b) {
  // What is not done is no better for being short.
  const row = (words, value, text, good = 0) => [words, value(a), value(b), text, areDone([a, b]) ? good : 0];
  const first = (side) => (side.attempts.length ? Math.min(...side.attempts.map((one) => one.from)) : null);
  const busy = (side) => side.attempts.reduce((sum, one) => sum + lengthOf(one) * one.tasks, 0);
  const bad = (side) => side.attempts.filter((one) => one.ended_at && one.state !== "done").length;
  return [
    row("makespan, from the submission to the end", (side) => (side.end - side.begin) / 1000, duration, LESS),
    row("wait until the first task", (side) => (first(side) === null ? null : Math.max(0, first(side) - side.begin) / 1000), duration, LESS),
    row("from the first task to the end", (side) => (first(side) === null ? null : (side.end - first(side)) / 1000), duration, LESS),
    row("cost, as expected at the submission", costOf, money, LESS),
    row("work: slots times seconds", busy, duration, LESS),
    row("slots in use, mean", (side) => (first(side) === null ? null : (1000 * busy(side)) / Math.max(1, side.end - first(side))), (value) => value.toFixed(1)),
    row("longest attempt", (side) => (side.attempts.length ? Math.max(...side.attempts.map(lengthOf)) : null), duration, LESS),
    row("tasks", (side) => side.tasks, whole),
    row("attempts", (side) => side.attempts.length, whole),
    row("attempts that failed or were killed", bad, whole, LESS),
    row("nodes used", (side) => new Set(side.attempts.map((one) => one.node)).size, whole),
  ];
}

// Differences are those of the figures that are shown: a reader may compute them.
const shown = (value, text) => Number(value.toFixed(text === money ? 2 : text === duration && value >= 10 ? 0 : 1));
const whole = (value) => value.toLocaleString();
const money = (value) => dollars({ expected: value });

function differences(caption, rows) {
  return table(caption, [
    { name: "figure", value: ([words]) => words },
    { name: "A", value: ([, one, , text]) => (one === null ? "–" : text(one)), number: true },
    { name: "B", value: ([, , other, text]) => (other === null ? "–" : text(other)), number: true },
    { name: "difference", value: ([, one, other, text, good]) => difference(one, other, text, good), number: true },
  ], rows, { fixed: true });
}

/** By how much the second differs: a sign, a share, and a glyph where one of them is better. */
function difference(one, other, text, good) {
  if (one === null || other === null || one === undefined || other === undefined) return "–";
  if (text(one) === text(other)) return "same";
  const base = shown(one, text);
  const off = shown(other, text) - base;
  const share = base > 0 && Math.abs(off / base) < 10 ? ` (${off > 0 ? "+" : "−"}${Math.max(1, Math.round(Math.abs((100 * off) / base)))} %)` : "";
  const words = `${off > 0 ? "+" : "−"}${text(Math.abs(off))}${share}`;
  if (!good) return words;
  const isBetter = Math.sign(off) === good;
  return make("span", { class: `state ${isBetter ? "done" : "failed"}` }, `${isBetter ? "✓" : "✕"} ${words}`);
}

function stages(sides, names, span) {
  const all = [...new Set(sides.flatMap((side) => side.stages.map((stage) => stage.name)))];
  if (!all.length) return [make("p", { class: "empty" }, "No stage has begun.")];
  const rows = all.map((name) => ({ name, sides: sides.map((side) => side.stages.find((stage) => stage.name === name)) }));
  const column = (name, measure, side) => ({ name, number: true, value: (row) => (row.sides[side] ? duration(row.sides[side][measure]) : "–"), by: (row) => row.sides[side]?.[measure] });
  const both = (words, measure) => [
    column(`A ${words}`, measure, 0), column(`B ${words}`, measure, 1),
    { name: "difference", number: true, value: (row) => difference(row.sides[0]?.[measure], row.sides[1]?.[measure], duration, areDone(sides) ? LESS : 0), by: (row) => row.sides[1]?.[measure] - row.sides[0]?.[measure] },
  ];
  const drawing = stageBars(rows, names, span);
  return [
    drawing,
    table("Took: from its first task to its last. Waited: from its inputs to its first task.", [
      { name: "stage", value: (row) => row.name },
      { name: "tasks", value: (row) => [...new Set(row.sides.map((stage) => stage?.tasks ?? "–"))].join(" / "), number: true },
      ...both("took", "took"), ...both("waited", "wait"), ...both("mean attempt", "mean"),
    ], rows),
  ];
}

/** Two bars for each stage, A above B, on one axis. */
function stageBars(rows, names, span) {
  const [LEFT, WIDTH] = narrow.matches ? [96, 420] : [120, 1000];  // as the pictures below
  const letters = narrow.matches ? 12 : 15;
  const height = rows.length * (2 * LANE + 8) + 22;
  const x = (at) => LEFT + ((WIDTH - LEFT - 10) * at) / span;
  const drawing = make("svg", { class: "gantt pair", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${counted(rows.length, "stage")} of ${names.join(" and ")} on one time axis; the table has the same numbers` });
  rows.forEach((row, number) => {
    const top = number * (2 * LANE + 8) + 4;
    drawing.append(make("text", { x: 4, y: top + 20 }, row.name.length > letters ? `${row.name.slice(0, letters - 1)}…` : row.name));
    row.sides.forEach((stage, side) => {
      if (!stage) return;
      const y = top + side * LANE;
      drawing.append(
        make("rect", { class: `side ${"ab"[side]}`, x: x(stage.from), y, rx: 2, width: Math.max(1.5, x(stage.to) - x(stage.from)), height: LANE - 3 },
          make("title", {}, `${names[side]}, ${row.name}: ${duration(stage.took)}, after ${duration(stage.from / 1000)}`)),
        make("text", { x: x(stage.from) - 4, y: y + 11, "text-anchor": "end" }, "AB"[side]));
    });
    drawing.append(make("line", { class: "lane", x1: 0, x2: WIDTH, y1: top + 2 * LANE + 2, y2: top + 2 * LANE + 2 }));
  });
  const parts = narrow.matches ? 2 : 4;
  for (let part = 0; part <= parts; part++)
    drawing.append(make("text", { x: x((span * part) / parts), y: height - 5, "text-anchor": part === 0 ? "start" : part === parts ? "end" : "middle" }, elapsed((span * part) / parts, span)));
  return wide("Stages of both on one time axis", drawing);
}
