// The log of an attempt: its last lines, and what is written while one looks. The whole is never fetched.

import { OPEN, make, pathOf, problemText, show, stateOf } from "./dom.js";
import { ask, askPart } from "./server.js";

const FIRST_BYTES = 64 << 10;
const LINES_MAX = 2000;
const LETTERS_MAX = 256 << 10; // of lines without an end
const LOOK_MS = 1000;
const COLOURS = /\x1b\[[0-9;]*[A-Za-z]/g; // for terminals
const AT_END = 4; // pixels

/** The address of the view of a log. */
export function pathToLog(job, attempt) {
  return `${pathOf(job)}/logs/${encodeURIComponent(attempt.key)}`;
}

export async function logView(main, match) {
  const [id, key] = match.slice(1).map(decodeURIComponent);
  const path = `/v1${pathOf({ job_id: id })}`;
  const address = `${path}/attempts/${encodeURIComponent(key)}/log`;
  document.title = `Log of ${key} · Sluice`;
  const log = make("pre", { class: "log", tabindex: "0", role: "log", "aria-live": "off", "aria-label": `Log of ${key}` });
  const said = make("p", { class: "quiet" });
  const lead = make("p", { class: "lead" });
  const follow = make("input", { id: "follow", type: "checkbox", checked: true, onchange: () => { if (follow.checked) look(); } });
  const state = { text: "", end: 0, isCut: false, decoder: new TextDecoder() };
  let isOpen = true;

  const draw = (size) => {
    log.textContent = state.text;
    said.textContent = !size ? "Nothing is written yet."
      : `${size.toLocaleString()} bytes${state.isCut ? "; the last lines are shown" : ""}.`;
    if (follow.checked) log.scrollTop = log.scrollHeight;
  };
  let isAsking = false;
  const look = async () => {
    if (isAsking) return;
    isAsking = true;
    try {
      let size;
      do {
        const part = await askPart(address, state.end ? `bytes=${state.end - 1}-` : `bytes=-${FIRST_BYTES}`);
        size = part.size;
        taken(state, part);
      } while (state.end < size);
      draw(size);
    } catch (error) {
      said.textContent = problemText(error);
      if ([404, 410].includes(error.status)) { // it is not there, and will not be
        follow.checked = false;
        follow.disabled = true;
      }
    } finally {
      isAsking = false;
    }
  };
  const sayJob = async () => {
    const job = await ask(path);
    isOpen = OPEN.includes(job.state);
    show(lead, "Standard error of the job ", make("a", { href: pathOf(job) }, job.name), " ", stateOf(job));
  };
  // Who scrolls up reads: the text stays where it is.
  log.addEventListener("scroll", () => {
    if (log.scrollHeight - log.scrollTop - log.clientHeight > AT_END) follow.checked = false;
  });
  show(main,
    make("h1", {}, `Log of ${key}`), lead,
    make("p", { class: "tools follow" },
      make("label", { for: "follow" }, follow, "Follow"),
      make("a", { href: address, target: "_blank" }, "The last MiB as text")),
    log, said);
  await Promise.all([sayJob(), look()]);
  requestAnimationFrame(() => { log.scrollTop = log.scrollHeight; });
  const timer = setInterval(() => { if (isOpen && follow.checked && !document.hidden) look(); }, LOOK_MS);
  return {
    onChange: (rows) => { if (rows === null || rows.some((row) => row.job_id === id)) sayJob().then(() => follow.checked && look(), () => {}); },
    end: () => clearInterval(timer),
  };
}

/** Add a part of the log to what is known of it. */
function taken(state, { begin, size, bytes }) {
  if (size < state.end) Object.assign(state, { text: "", end: 0, decoder: new TextDecoder() }); // it was begun again
  const isFirst = state.end === 0;
  // A part after the first begins with the last byte before it: a server has no part without a byte.
  let fresh = isFirst ? bytes : bytes.subarray(1);
  if (isFirst && begin > 0) fresh = fresh.subarray(fresh.indexOf(10) + 1);
  state.end = begin + bytes.length;
  const lines = (state.text + state.decoder.decode(fresh, { stream: true }).replace(COLOURS, "")).split("\n");
  const kept = lines.slice(-LINES_MAX - 1).join("\n").slice(-LETTERS_MAX);
  state.isCut ||= (isFirst && begin > 0) || lines.length > LINES_MAX + 1;
  state.text = kept;
}
