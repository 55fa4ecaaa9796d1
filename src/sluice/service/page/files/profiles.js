// Profiles: what past runs measured; promises and their outcomes; how far these can be trusted.

import { alert, clock, counted, duration, interval, make, pathOf, refusal, share, show, table, unjudged } from "./dom.js";
import { ask, askSlowly } from "./server.js";

const PROMISES_MAX = 200;
const RUNS_MAX = 200;
const SIZE = 300;
const EDGE = 44;

export async function profilesView(main, _match, open) {
  document.title = "Profiles · Sluice";
  const [calibration, stored] = await Promise.all([ask("/v1/calibration?by=profile"), ifAllowed("/v1/profiles?newest=1")]);
  const promised = Object.fromEntries(calibration.groups.map((row) => [row.group, row]));
  const known = stored?.profiles ?? {};
  const names = [...new Set([...Object.keys(known), ...Object.keys(promised).filter((name) => name !== "None")])].sort();
  show(main,
    make("h1", {}, "Profiles"),
    make("p", { class: "lead" }, "The past runs of each kind of job, and how many promises based on them were kept."),
    stored ? null : make("p", { class: "quiet" }, "Measured runs bear the names of all tenants, so that operators alone see them."),
    names.length ? table(counted(names.length, "profile"), [
      { name: "profile", value: (row) => make("a", { href: pathTo(row.name) }, row.name) },
      ...(stored ? [
        { name: "runs", value: (row) => String(known[row.name]?.runs_total ?? 0), number: true },
        { name: "newest run", value: (row) => duration(known[row.name]?.runs.at(-1)?.elapsed_s), by: (row) => known[row.name]?.runs.at(-1)?.elapsed_s, number: true },
      ] : []),
      { name: "promises kept", value: (row) => keptWords(promised[row.name]), by: (row) => promised[row.name]?.kept, number: true },
      { name: "95 % interval", value: (row) => (promised[row.name] ? `${share(promised[row.name].low)} – ${share(promised[row.name].high)}` : "–"), by: (row) => promised[row.name]?.low, number: true },
      { name: "verdict", value: (row) => promised[row.name]?.verdict ?? "not judged yet" },
    ], names.map((name) => ({ name })), { key: "name", onOpen: (row) => open(pathTo(row.name)) })
      : make("p", { class: "empty" }, "No job has ended yet. Its runs are measured, and kept under its name: sluice submit FILE."));
  return {};
}

export async function profileView(main, match, _open) {
  const name = decodeURIComponent(match[1]);
  document.title = `${name} · Profiles · Sluice`;
  const path = `/v1/profiles/${encodeURIComponent(name)}`;
  let ended = false;
  const [calibration, promises, runs] = await Promise.all([
    ask("/v1/calibration?by=profile"),
    ask(`/v1/promises?${new URLSearchParams({ profile: name, limit: PROMISES_MAX })}`),
    ifAllowed(`${path}/runs?limit=${RUNS_MAX}`),
  ]);
  const row = calibration.groups.find((one) => one.group === name);
  const outcomes = promises.items.filter((one) => one.outcome.kept !== null).map(outcomeOf);
  const answer = make("div", { "aria-live": "polite" });
  const compare = async () => {
    show(answer, make("p", { class: "quiet" }, "Predicting each run from the others …"));
    try {
      const found = await askSlowly(`${path}/calibration`, {}, () => ended);
      if (ended) return;
      const own = found.result && Object.values(found.result.profiles)[0];
      show(answer, ...(found.state === "done" ? accuracy(own, found.result.level) : [alert(found.problem)]));
    } catch (error) {
      if (!ended) show(answer, refusal(error));
    }
  };
  show(main,
    make("h1", {}, name),
    make("p", { class: "lead" }, row
      ? `${keptWords(row)} promises kept (claimed ${share(row.level)}; 95 % interval ${share(row.low)} – ${share(row.high)}): ${row.verdict}.`
      : "No promise that rests on this profile has an outcome yet."),
    outcomes.length ? make("section", {},
      make("h2", {}, "Promised against measured"),
      make("div", { class: "plans" },
        scatter(outcomes, "promised", "measured"),
        table(counted(outcomes.length, "promise"), [
          { name: "job", value: (one) => make("a", { href: pathOf(one) }, one.name) },
          { name: "made", value: (one) => clock(one.made_at) },
          { name: "promised", value: (one) => duration(one.predicted_s), by: (one) => one.predicted_s, number: true },
          { name: "measured", value: (one) => duration(one.actual_s), by: (one) => one.actual_s, number: true },
          { name: "outcome", value: (one) => mark(one.inside) },
        ], outcomes))) : null,
    runs?.items.length ? measured(runs) : null,
    runs?.items.length ? make("p", { class: "tools" }, make("button", { type: "button", onclick: compare }, "Compare predictions with runs")) : null,
    runs ? answer : make("p", { class: "quiet" }, "Measured runs bear the names of all tenants, so that operators alone see them."));
  return { end: () => { ended = true; } };
}

/** The answer, or null for one that this user may not see, or that is not there. */
async function ifAllowed(path) {
  try {
    return await ask(path);
  } catch (error) {
    if (error.status === 403 || error.status === 404) return null;
    throw error;
  }
}

function pathTo(name) {
  return `/profiles/${encodeURIComponent(name)}`;
}

function keptWords(row) {
  return row ? `${row.kept} of ${row.outcomes}` : "–";
}

function mark(isInside) {
  if (isInside === null) return "–";
  return make("span", { class: `state ${isInside ? "done" : "failed"}` }, isInside ? "✓ kept" : "✕ missed");
}

/** A promise as the time from its making to the end, promised and measured. */
function outcomeOf(promise) {
  const predicted = (new Date(promise.ends_at.expected) - new Date(promise.made_at)) / 1000;
  return { ...promise, predicted_s: predicted, actual_s: predicted + promise.outcome.off_s, inside: promise.outcome.kept };
}

function measured(runs) {
  const rows = runs.items;
  const lengths = rows.map((run) => run.elapsed_s).filter((one) => one !== null).sort((one, other) => one - other);
  const middle = lengths[Math.floor(lengths.length / 2)];
  return make("section", {},
    make("h2", {}, "Runs"),
    make("p", {}, `${counted(runs.total, "run")}; half of the newest ${lengths.length} took ${duration(middle)} or less.`),
    trend(rows),
    table("Stages of the newest run", [
      { name: "stage", value: (stage) => stage.name },
      { name: "tasks", value: (stage) => String(stage.tasks), number: true },
      { name: "average", value: (stage) => duration(stage.avg_s), by: (stage) => stage.avg_s, number: true },
      { name: "longest", value: (stage) => duration(stage.max_s), by: (stage) => stage.max_s, number: true },
      { name: "skew (longest / average)", value: (stage) => (stage.avg_s > 0 ? (stage.max_s / stage.avg_s).toFixed(1) : "–"), by: (stage) => (stage.avg_s > 0 ? stage.max_s / stage.avg_s : null), number: true },
    ], rows.at(-1).phases),
    make("details", {},
      make("summary", {}, "All of these runs"),
      table(`${rows.length} of ${runs.total}`, [
        { name: "run", value: (run) => run.id },
        { name: "at", value: (run) => (run.submitted_at_s ? clock(new Date(1000 * run.submitted_at_s).toISOString()) : "–") },
        { name: "took", value: (run) => duration(run.elapsed_s), by: (run) => run.elapsed_s, number: true },
        { name: "tasks", value: (run) => run.phases.map((stage) => stage.tasks).join(" + "), number: true },
        { name: "ended well", value: (run) => (run.succeeded ? "✓ yes" : "✕ no") },
      ], [...rows].reverse(), { cut: rows.length < runs.total ? rows.length : null })));
}

/** How long the runs took, in their order. */
function trend(rows) {
  const width = 560, height = 130;
  const values = rows.map((run) => run.elapsed_s ?? 0);
  const most = Math.max(...values, 1e-3);
  const x = (number) => 60 + ((width - 76) * (number + 0.5)) / values.length;
  const y = (value) => height - 24 - ((height - 40) * value) / most;
  const drawing = make("svg", { class: "frontier trend", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `How long the newest ${counted(rows.length, "run")} took, up to ${duration(most)}; the list below has the same` });
  drawing.append(
    make("line", { class: "lane", x1: 60, x2: width - 16, y1: height - 24, y2: height - 24 }),
    make("text", { x: 54, y: y(most) + 4, "text-anchor": "end" }, duration(most)),
    make("text", { x: 54, y: height - 20, "text-anchor": "end" }, "0"),
    make("text", { x: 60, y: height - 6 }, "oldest"),
    make("text", { x: width - 16, y: height - 6, "text-anchor": "end" }, "newest"));
  values.forEach((value, number) => drawing.append(dot(x(number), y(value), rows[number].succeeded, `${rows[number].id}: ${duration(value)}`)));
  return drawing;
}

/** Predicted against measured, both logarithmic; a cross is a miss. */
function scatter(points, first, second) {
  const all = points.flatMap((one) => [one.predicted_s, one.actual_s]).map((one) => Math.max(one, 1e-3));
  const low = Math.log(Math.min(...all) / 1.5), high = Math.log(Math.max(...all) * 1.5);
  const place = (value) => EDGE + ((SIZE - EDGE - 12) * (Math.log(Math.max(value, 1e-3)) - low)) / (high - low);
  const y = (value) => SIZE - place(value);
  const ends = [Math.exp(low), Math.exp(high)];
  const misses = points.filter((one) => one.inside === false).length;
  const drawing = make("svg", { class: "frontier scatter", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": `${first} against ${second}: ${misses} of ${points.length} missed; the list has the same` });
  drawing.append(
    make("line", { class: "lane", x1: EDGE, x2: SIZE - 12, y1: SIZE - EDGE, y2: SIZE - EDGE }),
    make("line", { class: "lane", x1: EDGE, x2: EDGE, y1: 12, y2: SIZE - EDGE }),
    make("line", { class: "lane", x1: place(ends[0]), y1: y(ends[0]), x2: place(ends[1]), y2: y(ends[1]) }),
    make("text", { x: EDGE, y: SIZE - 26 }, duration(ends[0])),
    make("text", { x: SIZE - 12, y: SIZE - 26, "text-anchor": "end" }, duration(ends[1])),
    make("text", { x: (SIZE + EDGE) / 2, y: SIZE - 8, "text-anchor": "middle" }, `${first} (log)`),
    make("text", { x: 14, y: (SIZE - EDGE) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(SIZE - EDGE) / 2})` }, `${second} (log)`));
  for (const one of points)
    drawing.append(dot(place(one.predicted_s), y(one.actual_s), one.inside !== false, `${one.name ?? one.id}: ${first} ${duration(one.predicted_s)}, ${second} ${duration(one.actual_s)}`));
  return drawing;
}

/** A point, or a cross for what went wrong: the shape says it, too. */
function dot(x, y, isGood, words) {
  const title = make("title", {}, words);
  if (isGood) return make("rect", { class: "dot", x: x - 3, y: y - 3, width: 6, height: 6, rx: 3 }, title);
  return make("path", { class: "miss", d: `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x - 4} ${y + 4}L${x + 4} ${y - 4}` }, title);
}

function accuracy(own, level) {
  const known = own.runs.filter((run) => run.predicted_s !== null && run.actual_s !== null);
  const change = own.level_change;
  return [
    make("h2", {}, "Predicted against measured"),
    make("p", { class: "lead" }, own.error_median === null ? "Too few runs to predict one from the others."
      : `Half of ${counted(own.predicted, "prediction")} were off by ${share(own.error_median)} or less${own.coverage === null ? `; intervals need more runs` : `; ${share(own.coverage)} of ${counted(own.intervals, "interval")} held (claimed ${share(level)})`}.`),
    change ? make("p", { class: "notice" }, `Its runs have changed: ${changeWords(change)}.`) : null,
    known.length ? scatter(known, "predicted", "measured") : null,
    known.length ? table(counted(known.length, "run"), [
      { name: "run", value: (run) => run.id },
      { name: "predicted", value: (run) => duration(run.predicted_s), by: (run) => run.predicted_s, number: true },
      { name: "interval", value: (run) => (run.low_s === null ? "–" : `${duration(run.low_s)} – ${duration(run.high_s)}`), by: (run) => run.low_s, number: true },
      { name: "measured", value: (run) => duration(run.actual_s), by: (run) => run.actual_s, number: true },
      { name: "interval", value: (run) => mark(run.inside) },
    ], known) : null,
  ];
}

function changeWords(change) {
  const percent = Math.round(100 * Math.abs(change.ratio - 1));
  const since = change.since_at_s ? `since ${new Date(1000 * change.since_at_s).toLocaleString()}` : `since ${change.run_id}`;
  return `${since} they take ${percent} % ${change.ratio > 1 ? "longer" : "less"}; ${counted(change.runs_before, "older run")} left aside`;
}

export async function promisesView(main, _match, open, showError) {
  document.title = "Promises · Sluice";
  const chosen = new URLSearchParams(location.search);
  const kept = chosen.get("kept");
  const load = (cursor) => ask(`/v1/promises?limit=100${kept ? `&kept=${kept}` : ""}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
  const [first, calibration] = await Promise.all([load(null), ask("/v1/calibration?by=queue")]);
  const list = make("div", {});
  let [rows, next] = [first.items, first.next];
  const draw = () => {
    if (!rows.length) return show(list, make("p", { class: "empty" }, "No promise is like this."));
    return show(list,
      table(`${rows.length} of ${first.total_is_exact ? "" : "more than "}${counted(first.total, "promise")}`, [
        { name: "job", value: (row) => make("a", { href: pathOf(row) }, row.name) },
        { name: "made", value: (row) => clock(row.made_at) },
        { name: "promised end", value: (row) => interval(row.ends_at) },
        { name: "outcome", value: outcome },
        { name: "off", value: (row) => off(row.outcome), by: (row) => row.outcome.off_s, number: true },
        { name: "cause", value: (row) => row.outcome.cause?.text ?? "" },
      ], rows, { key: "job_id", shown: Infinity, cut: next ? rows.length : null, onOpen: (row) => open(pathOf(row)) }),
      next ? make("p", {}, make("button", { type: "button", onclick: () => more().catch(showError) }, "Load more")) : null);
  };
  const more = async () => {
    const found = await load(next);
    [rows, next] = [[...rows, ...found.items], found.next];
    draw();
  };
  const outcomes = calibration.groups.reduce((sum, row) => sum + row.outcomes, 0);
  const good = calibration.groups.reduce((sum, row) => sum + row.kept, 0);
  show(main,
    make("h1", {}, "Promises"),
    make("p", { class: "lead" }, outcomes
      ? `${good} of ${counted(outcomes, "promise")} kept (${share(good / outcomes)}; claimed ${share(calibration.groups[0].level)}).`
      : "No promise has an outcome yet: the first jobs of a profile are only measured."),
    calibration.groups.length ? table("By queue", [
      { name: "queue", value: (row) => row.group },
      { name: "kept", value: (row) => `${row.kept} of ${row.outcomes}`, by: (row) => row.kept, number: true },
      { name: "95 % interval", value: (row) => `${share(row.low)} – ${share(row.high)}`, by: (row) => row.low, number: true },
      { name: "verdict", value: (row) => row.verdict },
      { name: "killed by users", value: (row) => String(row.killed), number: true },
    ], calibration.groups) : null,
    make("form", { class: "tools", onsubmit: (event) => event.preventDefault() },
      make("label", { for: "kept" }, "Show", make("select", {
        id: "kept", onchange: (event) => open(`/promises${event.target.value ? `?kept=${event.target.value}` : ""}`, { keepsFocus: true }),
      }, [["", "all"], ["false", "broken"], ["true", "kept"]].map(([value, word]) =>
        make("option", { value, selected: (kept ?? "") === value }, word))))),
    list);
  draw();
  return {};
}

function outcome(row) {
  if (row.decision !== "accepted") return row.why_not ?? row.decision;
  if (row.outcome.kept === null) return row.outcome.cause ? "late" : unjudged(row.state);
  return make("span", { class: row.outcome.kept ? "state done" : "state failed" }, row.outcome.kept ? "✓ kept" : "✕ broken");
}

function off(found) {
  if (found.off_s === null) return "–";
  return `${found.off_s.toFixed(1)} s = wait ${found.off_wait_s.toFixed(1)} + run ${found.off_run_s.toFixed(1)}`;
}
