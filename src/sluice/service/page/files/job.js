// One job: its promise and what is expected now, why it waits, what ran where, and its story.

import { OPEN, alert, clock, copying, counted, dialog, dollars, duration, facts, interval, loading, make, pathOf, problemText, ranFor, refusal, share, show, stateOf, table, unjudged } from "./dom.js";
import { gantt, stageGraph } from "./drawings.js";
import { pathToLog } from "./log.js";
import { ATTEMPTS_MAX, PART, ask, askInTurn, attemptsOf } from "./server.js";

const REFRESH_MS = 1000;
const MANY_MS = 5000; // where attempts are many: to draw them takes a while
const LOGS_MAX = 6;
const QUARTILES = [["shortest", "min_s"], ["25 %", "p25_s"], ["median", "p50_s"], ["75 %", "p75_s"], ["longest", "max_s"]];

export async function jobView(main, match, _open, showError) {
  const id = decodeURIComponent(match[1]);
  const place = make("div", {}, loading());
  show(main, place);
  // What the user has opened stays open when the view is drawn again.
  const opened = { attempts: false };
  const parts = []; // of the attempts: what has ended is not fetched again
  let isLarge = false;
  let explained = null;
  const path = `/v1${pathOf({ job_id: id })}`;
  // What would help is simulated, which takes a while: the rest does not wait for it.
  const causes = make("div", {});
  let isAsking = false;
  let helps = null; // the last that was simulated
  const drawCauses = async () => {
    if (isAsking) return;
    isAsking = true;
    try {
      const found = await ask(`${path}/why?would_help=false`);
      show(causes, ...whyOf({ ...found, ...helps }), helps ? null : simulating());
      const { would_help, never } = await ask(`${path}/why`);
      helps = { would_help, never };
      show(causes, ...whyOf({ ...found, ...helps }));
    } catch (error) {
      show(causes, refusal(error));
    } finally {
      isAsking = false;
    }
  };
  const draw = async () => {
    const [job, story, attempts] = await Promise.all([
      ask(path), ask(`${path}/story`), attemptsOf(id, parts),
    ]);
    isLarge = attempts.items.length > PART;
    if (!causes.firstChild) show(causes, job.reason ? make("p", {}, `${job.reason[0].toUpperCase()}${job.reason.slice(1)}.`) : null, simulating());
    drawCauses();
    const graph = stageGraph(job);
    document.title = `${job.name} · Sluice`;
    const isOpen = OPEN.includes(job.state);
    const labels = Object.entries(job.labels ?? {}).map(([key, value]) => (value ? `${key}=${value}` : key));
    show(place,
      make("h1", {}, `${job.name} `, stateOf(job)),
      job.detail ? make("p", { class: "notice" }, job.detail) : null,
      facts([
        ["id", job.job_id], ["queue", job.queue], ["tenant", job.tenant],
        ...(labels.length ? [["labels", labels.join(", ")]] : []),
        ["submitted", clock(job.submitted_at)], ["ran", duration(ranFor(job))], [isOpen ? "expected end" : "ended", interval(job.ends_at)],
        ["promised end", interval(job.promise.ends_at)], ["promise", kept(job)],
        ["deadline", job.deadline_at ? make("span", {}, clock(job.deadline_at), ` ${share(job.deadline_probability)}`) : "–"],
        ["cost", dollars(job.cost_usd)],
      ]),
      make("p", { class: "tools" },
        isOpen && job.state !== "running" ? holdButton(job, draw, showError) : null,
        isOpen ? make("button", { type: "button", class: "danger changes", onclick: () => kill(job, draw) }, "Kill …") : null,
        make("button", { type: "button", class: "changes", onclick: () => shareLink(job).catch(showError) }, "Share …"),
        copying(commandOf(job), `Copy: ${commandOf(job)}`)),
      make("h2", {}, "Why"),
      causes,
      graph ? make("h2", {}, "Stages") : null,
      graph,
      make("h2", {}, "What ran where"),
      logLinks(job, attempts.items),
      attempts.items.length ? gantt(attempts.items) : make("p", { class: "empty" }, "Nothing has run yet."),
      attempts.items.length < attempts.total ? make("p", { class: "quiet" }, `The first ${ATTEMPTS_MAX.toLocaleString()} of ${attempts.total.toLocaleString()} attempts are drawn.`) : null,
      attempts.lengths?.length ? table("Lengths of done tasks, in seconds", [
        { name: "phase", value: (row) => row.phase },
        { name: "done", value: (row) => String(row.done), number: true },
        ...QUARTILES.map(([name, key]) => ({ name, value: (row) => row[key].toFixed(1), number: true })),
      ], attempts.lengths) : null,
      attempts.items.length ? attemptTable(job, attempts, opened) : null,
      job.state === "done" ? (explained ??= explanation(path)) : null,
      make("h2", {}, "Story"),
      table(counted(story.lines.length, "line"), [
        { name: "at", value: (row) => clock(row.at) },
        { name: "what", value: (row) => row.what },
        { name: "why", value: (row) => row.why },
      ], story.lines));
  };
  await draw();
  let timer = null;
  const later = () => { timer ??= setTimeout(() => { timer = null; draw().catch(() => {}); }, isLarge ? MANY_MS : REFRESH_MS); };
  return {
    onChange: (rows) => { if (rows === null || rows.some((row) => row.job_id === id)) later(); },
    end: () => clearTimeout(timer),
  };
}

function simulating() {
  return make("p", { class: "quiet" }, "Simulating what would help …");
}

/** Why it waits, what is ahead of it, and what would start it earlier. */
function whyOf(why) {
  return [
    make("p", {}, `${why.text[0].toUpperCase()}${why.text.slice(1)}${why.ahead.length ? `; ${counted(why.ahead.length, "open job")} came before it` : ""}.`),
    why.never ? make("p", { class: "notice" }, "It starts in no possible future: nothing that runs will make room for it.") : null,
    why.would_help?.length ? make("p", {}, "Would start earlier with ", ...why.would_help.flatMap((help, number) => [number ? ", " : "", `${help.change}: `, clock(help.starts_at)]), ".") : null,
    table("Phases", [
      { name: "phase", value: (row) => row.phase },
      { name: "tasks", value: (row) => String(row.tasks), number: true },
      { name: "running", value: (row) => String(row.running), number: true },
      { name: "done", value: (row) => String(row.done), number: true },
      { name: "why", value: (row) => row.text ?? "" },
    ], why.phases),
  ];
}

/** Where the time went; it is asked for when it is opened, because that takes a second. */
function explanation(path) {
  const place = make("div", { "aria-live": "polite" });
  return make("details", {
    ontoggle: async (event) => {
      if (!event.target.open || place.childElementCount) return;
      show(place, make("p", { class: "quiet" }, "Replaying …"));
      try {
        const found = await askInTurn(`${path}/explain`, {}, () => !place.isConnected);
        show(place,
          make("p", {}, `It took ${found.recorded_s.toFixed(1)} s: ${found.waited_s.toFixed(1)} s waiting for slots, which were idle ${share(found.idle_share)} of its time.`),
          table("Critical path", [
            { name: "stage", value: (row) => row.stage },
            { name: "seconds", value: (row) => row.s.toFixed(2), number: true },
            { name: "share", value: (row) => share(row.share), number: true },
          ], found.critical_path),
          found.advice.length ? table("What would save time, each change alone", [
            { name: "change", value: (row) => row.what },
            { name: "saves seconds", value: (row) => row.saves_s.toFixed(2), number: true },
          ], found.advice) : make("p", {}, "No change would save time."));
      } catch (error) {
        show(place, alert(problemText(error)));
      }
    },
  }, make("summary", {}, "Where its time went, and what would save some"), place);
}

function kept({ promise, state }) {
  if (promise.decision !== "accepted") return promise.why_not ?? promise.decision;
  const outcome = promise.outcome?.kept;
  const word = outcome === null || outcome === undefined ? unjudged(state) : outcome ? "✓ kept" : "✕ broken";
  const off = promise.outcome?.off_s ? `${word}, ${duration(Math.abs(promise.outcome.off_s))} ${promise.outcome.off_s > 0 ? "later" : "earlier"} than expected` : word;
  return promise.outcome?.cause ? `${off}: ${promise.outcome.cause.text}` : off;
}

function attemptTable(job, { items, total }, opened) {
  const place = make("div", {});
  const draw = async () => {
    const isCut = items.length < total;
    const rows = isCut ? (await ask(`/v1${pathOf(job)}/attempts?sort=longest&limit=${PART}`)).items : items;
    show(place, table(isCut ? `Attempts: the ${rows.length.toLocaleString()} longest of ${total.toLocaleString()}` : "Attempts", [
      { name: "task", value: (row) => row.key },
      { name: "node", value: (row) => row.node },
      { name: "state", value: (row) => row.state },
      { name: "seconds", value: (row) => length(row).toFixed(1), by: length, number: true },
      { name: "started", value: (row) => clock(row.started_at) },
      { name: "why there", value: (row) => row.why },
      { name: "log", fixed: true, value: (row) => make("a", { href: pathToLog(job, row), "aria-label": `log of ${row.key}` }, "log") },
    ], rows, { first: { at: 3, isFalling: true }, cut: isCut ? rows.length : null }));
  };
  if (opened.attempts) draw().catch(() => {});
  return make("details", {
    open: opened.attempts,
    ontoggle: (event) => {
      opened.attempts = event.target.open;
      if (opened.attempts && !place.firstChild) draw().catch(() => {});
    },
  }, make("summary", {}, `The same as a table, the longest first (${total.toLocaleString()})`), place);
}

/** The logs that one looks for: of what runs, or of what failed last. */
function logLinks(job, attempts) {
  const running = attempts.filter((one) => one.state === "running");
  const shown = running.length ? running.slice(0, LOGS_MAX) : attempts.filter((one) => one.state === "failed").slice(-1);
  if (!shown.length) return null;
  return make("p", {}, running.length ? "Logs of what runs: " : "What failed last wrote a log: ",
    ...shown.flatMap((one, number) => [number ? ", " : "", make("a", { href: pathToLog(job, one) }, one.key)]),
    running.length > shown.length ? ` and ${running.length - shown.length} more in the table.` : ".");
}

export function length(attempt) {
  return ((attempt.ended_at ? new Date(attempt.ended_at) : new Date()) - new Date(attempt.started_at)) / 1000;
}

/** The command that says the same. The job of a recorded run bears the id of the run. */
function commandOf(job) {
  const [run, name] = job.job_id.split("~");
  return name ? `sluice why ${name} --run ${run}` : `sluice why ${job.job_id}`;
}

function holdButton(job, done, showError) {
  const isHeld = job.state === "held";
  return make("button", {
    type: "button", class: "changes",
    onclick: async () => {
      try {
        await ask(`/v1${pathOf(job)}`, { method: "PATCH", body: { hold: !isHeld } });
        await done();
      } catch (error) {
        showError(error);
      }
    },
  }, isHeld ? "Let it go" : "Hold");
}

/** A link that shows this job to who has it. */
async function shareLink(job) {
  const { url, ends_at: end } = await ask(`/v1${pathOf(job)}/links`, { method: "POST", body: {} });
  const address = make("input", { id: "link", readonly: true, value: url });
  dialog(`Share ${job.name}`, (close) => [
    make("p", {}, "Who has this link sees this job and its logs, and nothing else, until ", clock(end), "."),
    make("p", { class: "fields" }, make("label", { for: "link" }, "Link", address)),
    make("p", { class: "tools" }, copying(url, "Copy"), make("button", { type: "button", onclick: close }, "Close")),
  ]);
  address.select();
}

function kill(job, done) {
  const problem = make("p", { role: "alert" });
  dialog(`Kill ${job.name}?`, (close) => [
    make("p", {}, `${job.job_id} ends, and its output is not written.`),
    problem,
    make("p", { class: "tools" },
      make("button", {
        type: "button", class: "danger",
        onclick: async () => {
          try {
            await ask(`/v1${pathOf(job)}`, { method: "DELETE" });
            close();
            await done();
          } catch (error) {
            problem.textContent = problemText(error);
          }
        },
      }, "Kill"),
      make("button", { type: "button", onclick: close }, "Let it run")),
  ]);
}
