// How the page asks: JSON under /v1, and one stream of changes for all tabs of this browser.

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.what);
    this.status = status;
    this.problem = problem;
  }
}

/** The answer as JSON. Throws Refused with the problem of the service. */
export async function ask(path, { method = "GET", body = null, signal = null, key = null, version = null } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method, signal, credentials: "same-origin",
      headers: { ...(body ? { "Content-Type": "application/json" } : {}), ...(key ? { "Idempotency-Key": key } : {}), ...(version ? { "If-Match": `"${version}"` } : {}) },
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { what: "The service does not answer", hint: "it is asked again", where: "" });
  }
  const text = await response.text();
  const found = text ? JSON.parse(text) : null;
  if (!response.ok) throw new Refused(response.status, found ?? { what: response.statusText, hint: "", where: "" });
  return found;
}

const POLL_MS = 300;

const later = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** As ask, and again while the service makes other answers for the same tenant. isOver: the view is left. */
export async function askInTurn(path, options, isOver) {
  for (;;) {
    try {
      return await ask(path, options);
    } catch (error) {
      if (error.status !== 429 || isOver()) throw error;
      await later(1000 * (error.problem.retry_after_s ?? 1));
    }
  }
}

/** An answer that takes a while: asked for, and fetched once it is made. One that is left is cancelled. */
export async function askSlowly(path, body, isOver) {
  let found = await askInTurn(path, { method: "POST", body }, isOver);
  while (found.state === "running" && !isOver()) {
    await later(POLL_MS);
    found = await ask(`/v1/answers/${found.answer_id}`);
  }
  if (found.state === "running") await ask(`/v1/answers/${found.answer_id}`, { method: "DELETE" });
  return found;
}

/** The answer as bytes. Throws Refused. */
export async function askBytes(path) {
  const response = await fetch(path, { credentials: "same-origin" });
  if (!response.ok) throw new Refused(response.status, await response.json());
  return new Uint8Array(await response.arrayBuffer());
}

/** A part of a text: {begin, size, bytes}, where it begins and the size of the whole. Throws Refused. */
export async function askPart(path, range) {
  const response = await fetch(path, { credentials: "same-origin", cache: "no-store", headers: { Range: range } });
  if (!response.ok) throw new Refused(response.status, await response.json());
  const bytes = new Uint8Array(await response.arrayBuffer());
  const [, begin, size] = response.headers.get("Content-Range")?.match(/^bytes (\d+)-\d+\/(\d+)$/) ?? [null, 0, bytes.length];
  return { begin: Number(begin), size: Number(size), bytes };
}

/** Calls onChange with the rows that changed, or with null where all must be fetched again. */
export function follow(onChange, onState) {
  const channel = new BroadcastChannel("sluice");
  channel.onmessage = (event) => (event.data.rows === undefined ? onState(event.data.state) : onChange(event.data.rows));
  const pass = (message) => {
    channel.postMessage(message);
    channel.onmessage({ data: message });
  };
  // A browser opens six connections to a server: one tab holds the stream, and passes it on.
  navigator.locks.request("sluice-stream", () => new Promise(() => {
    const stream = new EventSource("/v1/events");
    stream.onopen = () => pass({ state: "live" });
    stream.onerror = () => pass({ state: "off" });
    stream.addEventListener("delta", (event) => pass({ rows: JSON.parse(event.data).rows }));
    stream.addEventListener("resync", () => pass({ rows: null }));
  }));
}

export const ATTEMPTS_MAX = 5000; // of a job, that are drawn
export const PART = 1000;

/** The attempts of a job by their start: {items, total}. parts: those of the last time; what has ended is not fetched again. */
export async function attemptsOf(id, parts = [], most = ATTEMPTS_MAX) {
  let cursor = "";
  let total = 0;
  let number = 0;
  for (; number * PART < most && cursor !== null; number++) {
    const known = parts[number];
    if (!known?.next || known.items.some((one) => !one.ended_at))
      parts[number] = await ask(`/v1/jobs/${encodeURIComponent(id)}/attempts?limit=${PART}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
    cursor = parts[number].next;
    total = Math.max(total, parts[number].total);
  }
  const items = parts.slice(0, number).flatMap((part) => part.items).slice(0, most);
  return { items, total: Math.max(total, items.length), lengths: parts[0]?.lengths };
}
