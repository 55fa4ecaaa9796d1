// What ran where, drawn: a lane for each slot of each node.

import { CLOCK, duration, make, wide } from "./dom.js";

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
