// Applications that others submitted to a cluster: in the queue, one of them, and how they are steered.

import { GLYPHS, clock, counted, facts, interval, make, show, table } from "./dom.js";
import { ask } from "./server.js";

const FIRST = 50;
const MOST = 1000;
export const LOOK_MS = 15_000;  // as often as the service looks
const STATES = ["waiting", "running"];
const OUTCOMES = {
  done: ["done", "✓ set"], listed: ["waiting", "○ only listed"], late: ["waiting", "○ not taken up yet"],
  refused: ["failed", "✕ refused"], problem: ["failed", "✕ no change"],
};

const pathOf = (row) => `/observed/${encodeURIComponent(row.job_id)}`;
const stateOf = (row) => make("span", { class: `state ${row.state}` }, `${GLYPHS[row.state]} ${row.state}`);

/** {element, draw}: those of a filter, below the jobs of the service. draw(query, steers): fetch them. */
export function othersInQueue(open) {
  const element = make("section", { "aria-label": "Applications of others" });
  let most = FIRST;
  let asked = null;
  const draw = async (chosen, steers) => {
    asked = () => draw(chosen, steers);
    const state = chosen.get("state");
    if (state && !STATES.includes(state)) {
      show(element);
      return;
    }
    const query = new URLSearchParams({ limit: String(most) });
    for (const name of ["state", "name", "queue"]) if (chosen.get(name)) query.set(name, chosen.get(name));
    const found = await ask(`/v1/observed?${query}`);
    const isCut = found.items.length < found.total;
    show(element,
      make("h2", {}, "Applications of others"),
      make("p", { class: "quiet" }, "On the YARN cluster that this service observes: forecasts, not promises. Seen at ", clock(found.as_of), ".",
        steers ? make("span", {}, " ", make("a", { href: "/steering" }, "How the cluster is steered")) : null),
      found.problem ? make("p", { class: "notice" }, `Not newer, because ${found.problem}`) : null,
      found.items.length ? table(isCut ? `${found.items.length} of ${counted(found.total, "application")}` : counted(found.total, "application"), [
        { name: "application", value: (row) => make("a", { href: pathOf(row) }, row.name || row.job_id) },
        { name: "id", value: (row) => row.job_id },
        { name: "user", value: (row) => row.user },
        { name: "queue", value: (row) => row.queue },
        { name: "state", value: (row) => make("span", {}, stateOf(row), " (observed)") },
        { name: "forecast of the end", value: (row) => interval(row.ends_at) },
        { name: "past runs", value: (row) => String(row.past_runs), number: true },
        { name: "why", value: (row) => row.reason ?? "" },
      ], found.items, { key: "job_id", cut: isCut ? found.items.length : null, onOpen: (row) => open(pathOf(row)) }) : make("p", { class: "empty" }, "No application is like this."),
      isCut && most < MOST ? make("p", {}, make("button", { type: "button", onclick: () => { most = MOST; asked().catch(() => {}); } }, "Show more")) : null);
  };
  return { element, draw };
}

export async function observedView(main, match) {
  const id = decodeURIComponent(match[1]);
  document.title = `${id} · Sluice`;
  return refreshed(async () => {
    const [row, story] = await Promise.all([ask(`/v1/observed/${encodeURIComponent(id)}`), ask(`/v1/jobs/${encodeURIComponent(id)}/story`)]);
    document.title = `${row.name || id} · Sluice`;
    show(main,
      make("h1", {}, row.name || id),
      make("p", { class: "lead" }, stateOf(row), " on the cluster of others: YARN runs it, and what is said of its end is a forecast."),
      facts([
        ["id", row.job_id], ["queue", row.queue], ["user", row.user], ["containers", String(row.slots)],
        ["submitted", clock(row.submitted_at)], [row.state === "running" ? "started" : "forecast of the start", interval(row.starts_at)],
        ["forecast of the end", interval(row.ends_at)], ["forecast from", counted(row.past_runs, "past run")],
      ]),
      row.reason ? make("p", {}, `It waits: ${row.reason}.`) : null,
      make("h2", {}, "Story"),
      table(counted(story.lines.length, "line"), [
        { name: "at", value: (line) => clock(line.at) },
        { name: "what", value: (line) => line.what },
        { name: "why", value: (line) => line.why },
      ], story.lines));
  });
}

export async function steeringView(main) {
  document.title = "Steering · Sluice";
  return refreshed(async () => {
    const found = await ask("/v1/steering");
    show(main,
      make("h1", {}, "Steering"),
      make("p", { class: "lead" }, `${found.policies.join(", ")} ${found.apply ? "may change" : "would change"} ${found.may_change.join(", ")} of ${found.address}.`,
        found.as_of ? make("span", {}, " Last looked at ", clock(found.as_of), ".") : null),
      Object.entries(found.problems).map(([policy, why]) => make("p", { class: "notice" }, `${policy} changed nothing: ${why}`)),
      found.items.length ? table(`The newest ${counted(found.items.length, "decision")}`, [
        { name: "at", value: (row) => clock(row.at) },
        { name: "policy", value: (row) => row.policy },
        { name: "what", value: (row) => row.target ? `${row.setting} of ${row.target}` : "" },
        { name: "change", value: (row) => row.target ? `${row.before || "none"} → ${row.wanted || "none"}` : "" },
        { name: "outcome", value: (row) => make("span", { class: `state ${OUTCOMES[row.outcome][0]}` }, OUTCOMES[row.outcome][1]) },
        { name: "why", value: (row) => [row.reason, row.why].filter(Boolean).join("; ") },
      ], found.items) : make("p", { class: "empty" }, "Nothing had to be changed yet."));
  });
}

/** A view that is drawn again from time to time: no stream says what changes there. */
async function refreshed(draw) {
  await draw();
  const timer = setInterval(() => { if (!document.hidden) draw().catch(() => {}); }, LOOK_MS);
  return { end: () => clearInterval(timer) };
}
