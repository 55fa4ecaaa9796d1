// Elements from values. Text is always text: nothing here takes HTML.

const SVG = "http://www.w3.org/2000/svg";
const SVG_NAMES = new Set(["svg", "g", "rect", "line", "text", "title", "path"]);

/** An element. given: attributes, and listeners by `on...`; null and false leave one out. drawn: a link in a drawing. */
export function make(name, { drawn = false, ...given } = {}, ...children) {
  const isDrawing = drawn || (SVG_NAMES.has(name) && !given.html);
  const made = isDrawing ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false && key !== "html")
      made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}

const SCROLLED = ".wide, thead"; // the heads of cards are a row of buttons

/** Show these elements, and nothing else. What has the focus keeps it, and what was scrolled stays so. */
export function show(place, ...children) {
  const nameOf = (one) => `${one.tagName} ${one.getAttribute("href") ?? one.getAttribute("aria-label") ?? one.textContent}`;
  const active = place !== document.activeElement && place.contains(document.activeElement) ? document.activeElement : null;
  const focused = active && nameOf(active);
  const number = active && reached(place).filter((one) => nameOf(one) === focused).indexOf(active);
  const scrolled = new Map([...place.querySelectorAll(SCROLLED)].map((one) => [nameOf(one), one.scrollLeft]));
  place.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  for (const one of place.querySelectorAll(SCROLLED)) if (scrolled.get(nameOf(one))) one.scrollLeft = scrolled.get(nameOf(one));
  // Columns of several tables have the same name.
  if (active) reached(place).filter((one) => nameOf(one) === focused)[number]?.focus({ preventScroll: true });
}

/** What the keyboard reaches. */
function reached(place) {
  return [...place.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
}

export const GLYPHS = {
  waiting: "○", running: "▶", done: "✓", failed: "✕", killed: "✕", refused: "⊘", held: "‖",
};

/** The state of a job: a glyph and a word, never the colour alone. */
export function stateOf(row) {
  const { tasks, state } = row;
  const total = tasks.waiting + tasks.running + tasks.done;
  let more = "";
  if (state === "running" && total) more = ` ${Math.floor((100 * tasks.done) / total)} %`;
  if (state === "waiting" && row.position) more = ` #${row.position}`;
  return make("span", { class: `state ${state}` }, `${GLYPHS[state]} ${state}${more}`, state === "running" ? bar(tasks, total) : null);
}

/** How many tasks are done, and run, of all. */
function bar({ done, running }, total) {
  const part = (name, x, width) => make("rect", { class: name, x, width, height: 1 });
  return make("svg", { class: "bar", viewBox: `0 0 ${total || 1} 1`, preserveAspectRatio: "none", role: "img" },
    make("title", {}, `${done} of ${counted(total, "task")} done, ${running} running`),
    part("done", 0, done), part("running", done, running));
}

export const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** An instant in local time, with UTC to hover over. */
export function clock(text) {
  if (!text) return "–";
  const at = new Date(text);
  const isToday = Math.abs(Date.now() - at) < 12 * 3600e3;
  return make("time", { datetime: text, title: text, class: "whole" }, (isToday ? CLOCK : DAY).format(at));
}

/** An instant with its interval. */
export function interval(found) {
  if (!found || !found.expected) return "–";
  const [expected, low, high] = [found.expected, found.low, found.high].map(clock);
  if (low.textContent === high.textContent) return expected;
  const day = expected.textContent.slice(0, expected.textContent.lastIndexOf(" ") + 1); // it is named once
  for (const one of [low, high]) if (one.textContent?.startsWith(day)) one.textContent = one.textContent.slice(day.length);
  return make("span", {}, expected, " (", low, "–", high, ")");
}

export function share(number) {
  return number === null || number === undefined ? "–" : `${Math.round(100 * number)} %`;
}

export function dollars(cost) {
  if (!cost || cost.expected === null) return "–";
  return cost.expected > 0 && cost.expected < 0.005 ? "<$0.01" : `$${cost.expected.toFixed(2)}`;
}

export function counted(number, thing) {
  return `${number.toLocaleString()} ${thing}${number === 1 ? "" : "s"}`;
}

/** A list of facts. */
export function facts(pairs) {
  return make("dl", { class: "facts" },
    pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

let selectedKey = null;

/** Select a row: it stays selected when the table is drawn again. */
export function select(row) {
  selectedKey = row.dataset.key;
  for (const other of document.querySelectorAll("tbody tr[data-key]"))
    other.setAttribute("data-selected", String(other === row));
  row.scrollIntoView({ block: "nearest" });
}

const orders = new Map(); // how the user sorted the tables: they stay so when they are drawn again
const counts = new Map(); // how many rows of a long table the user sees, for the same reason
const widths = new Map(); // of the columns of long tables: they do not jump when rows come
const words = new Intl.Collator(undefined, { numeric: true });
const FIRST = 100; // rows of a long table: more of them are drawn when the user asks for them
const FURTHER = 400;

/**
 * A table, which the user sorts by any column: first the greatest number, the latest instant, or the first word.
 *
 * columns: [{name, value: row => child, by, number, whole, fixed}].  by: row => what sorts it, where that is not the text.
 * whole: never broken into lines.  fixed: not sorted by, as it has no values.
 * onOpen: called with a row.  first: the column by which it is sorted until the user says otherwise.
 * drawn: rows to their elements, of the table that was drawn before: a row that is the same is not made again.
 * cut: how many rows of a longer list these are.  fixed: the rows have one order alone.
 * shown: how many rows are drawn until the user asks for more.
 */
export function table(caption, columns, rows, { onOpen = null, key = null, first = null, cut = null, fixed = false, drawn = new Map(), shown = FIRST } = {}) {
  const name = [location.pathname, ...columns.map((column) => column.name)].join("\n");
  const elementOf = (row) => make("tr", {
    "data-key": key ? row[key] : null,
    "data-selected": key && row[key] === selectedKey ? "true" : null,
    onclick: onOpen ? (event) => { if (!event.target.closest("a, button, label")) onOpen(row); } : () => {},
  }, columns.map((column) => {
    const value = column.value(row);
    // A card leaves out what has no value.
    const kind = [column.number ? "number" : column.whole ? "whole" : "", value === "–" ? "none" : ""].join(" ").trim();
    return make("td", { "data-label": column.name, class: kind || null }, value);
  }));
  const lineOf = (row) => {
    if (!drawn.has(row)) drawn.set(row, elementOf(row));
    return drawn.get(row);
  };
  const body = make("tbody", {});
  const note = make("span", {});
  const heads = columns.map((column, at) => make("th", { scope: "col", class: column.number ? "number" : null },
    column.fixed || fixed || rows.length < 2 ? column.name : make("button", { type: "button", onclick: () => press(at) }, column.name)));
  const press = (at) => {
    const now = orders.get(name) ?? first;
    const isFallingFirst = rows.some((row) => typeof keyOf(columns[at], row) === "number");
    if (now?.at !== at) orders.set(name, { at, isFalling: isFallingFirst });
    else if (now.isFalling === isFallingFirst) orders.set(name, { at, isFalling: !isFallingFirst });
    else orders.set(name, { at: null });
    arrange();
  };
  const further = make("button", { type: "button", onclick: () => { counts.set(name, (counts.get(name) ?? shown) + FURTHER); arrange(); } });
  const foot = make("tfoot", {}, make("tr", {}, make("td", { colspan: columns.length }, further)));
  const arrange = () => {
    const { at = null, isFalling = false } = orders.get(name) ?? first ?? {};
    heads.forEach((head, other) => {
      if (other === at) head.setAttribute("aria-sort", isFalling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const keys = at === null ? null : new Map(rows.map((row) => [row, keyOf(columns[at], row)]));
    const sorted = keys ? [...rows].sort((one, other) => compared(keys.get(one), keys.get(other), isFalling)) : rows;
    const count = counts.get(name) ?? shown;
    show(body, sorted.slice(0, count).map(lineOf));
    foot.hidden = count >= rows.length;
    further.textContent = `Show more: ${count.toLocaleString()} of ${rows.length.toLocaleString()} are shown`;
    note.textContent = keys && cut !== null ? `. Sorted by ${columns[at].name}: these ${cut} alone` : "";
  };
  arrange();
  const made = make("table", { class: "cards" }, make("caption", {}, caption, note), make("thead", {}, make("tr", {}, heads)), body, foot);
  if (rows.length >= FIRST) keepWidths(made, heads, name);
  return made;
}

/** The columns of a long table keep the widths that its first rows gave them: to find those of all rows takes long. */
function keepWidths(made, heads, name) {
  const set = (shares) => {
    heads.forEach((head, at) => { head.style.width = `${shares[at]}%`; });
    made.classList.add("long");
  };
  if (widths.has(name)) {
    set(widths.get(name));
    return;
  }
  // A table that is folded away has no width yet; the cards of a phone have no columns.
  const watch = new ResizeObserver(() => {
    const whole = made.offsetWidth;
    if (!whole || getComputedStyle(made).display !== "table") return;
    watch.disconnect();
    widths.set(name, heads.map((head) => (100 * head.offsetWidth) / whole));
    set(widths.get(name));
  });
  watch.observe(made);
}

/** What sorts a row: a number, a text, or null where there is nothing. */
function keyOf(column, row) {
  if (column.by) {
    const found = column.by(row) ?? null;
    return Number.isNaN(found) ? null : found;
  }
  const value = column.value(row);
  const at = value?.matches?.("time") ? value : value?.querySelector?.("time");
  if (at) return Date.parse(at.dateTime);
  const text = String(value?.textContent ?? value ?? "").trim();
  if (!text || text.startsWith("–")) return null;
  return column.number && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Compare two keys. A row without one is last in both directions. */
function compared(one, other, isFalling) {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  const order = typeof one === "number" && typeof other === "number" ? one - other : words.compare(one, other);
  return isFalling ? -order : order;
}

/** The tables of a view are sorted by its own order again. */
export function unsort(path) {
  for (const name of orders.keys()) if (name.startsWith(`${path}\n`)) orders.delete(name);
}

/** The address of the view of a job. */
export function pathOf(row) {
  return `/jobs/${encodeURIComponent(row.job_id)}`;
}

/** A length of time, such as 1 h 05 m. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.round(Math.abs(seconds));
  const sign = seconds < 0 ? "−" : "";
  const hours = Math.floor(whole / 3600), minutes = Math.floor((whole % 3600) / 60);
  if (hours) return `${sign}${hours} h ${String(minutes).padStart(2, "0")} m`;
  if (minutes) return `${sign}${minutes} m ${String(whole % 60).padStart(2, "0")} s`;
  return `${sign}${Math.abs(seconds).toFixed(Math.abs(seconds) < 10 ? 1 : 0)} s`;
}

/** For how long a job has run, or ran, in seconds; null where it has not begun. */
export function ranFor({ state, starts_at: from, ends_at: { expected: to } }) {
  if (!from || !["running", "done", "failed", "killed"].includes(state) || (state !== "running" && !to)) return null;
  return Math.max(0, ((state === "running" ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000);
}

/** Where the answer of the service will be: a place is never empty. */
export function loading() {
  return make("p", { class: "quiet" }, "Loading …");
}

/** Why something was refused, as an alert. */
export function refusal(error) {
  const { where, what } = error.problem ?? {};
  return alert(`${where && what ? `${where}: ` : ""}${problemText(error)}`);
}

/** What is wrong, and what to do, in sentences. */
export function problemText(error) {
  const { what, hint } = error.problem ?? { what: String(error) };
  return [what, hint].filter(Boolean).map(sentence).join(" ");
}

/** A text that begins and ends as sentences do; a command keeps its letters. */
function sentence(text) {
  const isWord = /^[a-z]+[ ,.:]/.test(text) && !text.startsWith("sluice ");
  const begun = isWord ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** A problem in words, which is read out. */
export function alert(text) {
  return make("p", { class: "notice", role: "alert" }, text);
}

/** What is wider than a phone: it scrolls, also by keys, and says so where a part of it is not seen. */
export function wide(label, ...children) {
  const hint = make("p", { class: "quiet", hidden: true }, "Scroll sideways to see all of it →");
  const box = make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": label }, ...children);
  new ResizeObserver(() => { hint.hidden = box.scrollWidth <= box.clientWidth + 1; }).observe(box);
  return make("div", {}, hint, box);
}

export const OPEN = ["waiting", "held", "running"]; // states of jobs that are still to end

/** The outcome of a promise that was neither kept nor broken. */
export function unjudged(state) {
  return OPEN.includes(state) ? "open" : `not judged: the job ${state === "failed" ? "has failed" : `was ${state}`}`;
}

/** A dialog, open. draw: given how to close it, what is in it. */
export function dialog(title, draw) {
  const box = make("dialog", { "aria-labelledby": "title", onclose: () => box.remove() });
  const fill = (words, ...children) => show(box, make("h2", { id: "title" }, words), ...children);
  fill(title, ...draw(() => box.close(), fill));
  document.body.append(box);
  box.showModal();
}

/** A button that copies a text. */
export function copying(text, word) {
  return make("button", {
    type: "button",
    onclick: async (event) => {
      await navigator.clipboard.writeText(text);
      event.target.textContent = "Copied";
    },
  }, word);
}

/** The user gets a text as a file. */
export function saved(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60e3);
}
