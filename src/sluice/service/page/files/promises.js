// Promises and their outcomes, and how far they can be trusted.

import { clock, counted, interval, make, pathOf, share, show, table, unjudged } from "./dom.js";
import { ask } from "./server.js";

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
