// The nodes: which are up, how full they are, and what runs there.

import { clock, counted, make, share, show, table, wide } from "./dom.js";
import { ask, askBytes } from "./server.js";

const REFRESH_MS = 1000;

export async function nodesView(main) {
  document.title = "Nodes · Sluice";
  const now = make("div", {});
  const picture = timelinePicture();
  show(main, make("h1", {}, "Nodes"), now, picture.element);
  const draw = async () => {
    const { nodes } = await ask("/v1/nodes");
    const up = nodes.filter((node) => node.state === "up");
    const slots = up.reduce((sum, node) => sum + node.slots, 0);
    const used = up.reduce((sum, node) => sum + node.used, 0);
    show(now,
      make("p", { class: "lead" }, `${up.length} of ${counted(nodes.length, "node")} up, ${used} of ${counted(slots, "slot")} in use.`),
      nodes.length ? table(counted(nodes.length, "node"), [
        { name: "node", value: (row) => row.node_id },
        { name: "state", value: (row) => make("span", { class: row.state === "up" && !row.cordoned ? "state done" : "state failed", title: row.cordoned ?? "" }, row.state !== "up" ? "✕ down" : row.cordoned ? "◌ cordoned" : "✓ up") },
        { name: "slots in use", value: (row) => `${row.used} of ${row.slots}`, by: (row) => row.used, number: true },
        { name: "jobs", value: (row) => (row.jobs.length ? make("span", {}, row.jobs.flatMap((id, number) => [number ? ", " : "", id.startsWith("job-") ? make("a", { href: `/jobs/${id}`, title: id }, row.names[number]) : id])) : null) },
        { name: "last fault", value: (row) => row.fault ?? "" },
      ], nodes, { first: { at: 0 } }) : make("p", { class: "empty" }, "No node has come yet."));
  };
  await Promise.all([draw(), picture.draw()]);
  let timer = null;
  return {
    onChange: () => { timer ??= setTimeout(() => { timer = null; draw().catch(() => {}); picture.draw().catch(() => {}); }, REFRESH_MS); },
    end: () => clearTimeout(timer),
  };
}

// How busy nodes, queues or jobs were over any span: a picture of one byte a cell, and a table of it.

const COLUMNS = 600;
const ROWS = 100;
const LANE = 16;
const FULL = 127;
const FAILED = 128;
const SPANS = [["15 minutes", 900], ["hour", 3600], ["day", 86400], ["week", 604800]];

/** {element, draw}: draw() fetches and draws again. */
function timelinePicture() {
  const span = make("select", { id: "span" }, SPANS.map(([name, seconds]) => make("option", { value: seconds }, name)));
  const by = make("select", { id: "by" }, ["node", "queue", "job"].map((name) => make("option", { value: name }, name)));
  const place = make("div", {});
  const draw = async () => {
    const to = new Date();
    const from = new Date(to - 1000 * Number(span.value));
    const query = new URLSearchParams({ from: from.toISOString(), to: to.toISOString(), by: by.value, rows: ROWS, columns: COLUMNS });
    const content = await askBytes(`/v1/timeline?${query}`);
    const end = content.indexOf(10);
    const head = JSON.parse(new TextDecoder().decode(content.subarray(0, end)));
    const cells = content.subarray(end + 1);
    show(place, ...(head.rows.length ? drawn(head, cells, from, to) : [make("p", { class: "empty" }, "Nothing ran in this span.")]));
  };
  const again = () => draw().catch(() => {});
  span.addEventListener("change", again);
  by.addEventListener("change", again);
  const element = make("section", { "aria-labelledby": "timeline-title" },
    make("h2", { id: "timeline-title" }, "How busy it was"),
    make("p", { class: "tools" }, make("label", { for: "span" }, "The last", span), make("label", { for: "by" }, "by", by)),
    place);
  return { element, draw };
}

function drawn(head, cells, from, to) {
  const rows = head.rows.map((name, number) => {
    const own = cells.subarray(number * head.columns, (number + 1) * head.columns);
    const busy = own.reduce((sum, cell) => sum + (cell & FULL), 0) / (FULL * head.columns);
    return { name, own, busy, failed: own.reduce((sum, cell) => sum + (cell >= FAILED ? 1 : 0), 0) };
  });
  const canvas = make("canvas", {
    class: "timeline", width: head.columns, height: rows.length * LANE, role: "img",
    "aria-label": `${counted(rows.length, "row")} over time; the table has the same numbers`,
  });
  canvas.style.height = `${rows.length * LANE}px`;
  paint(canvas, rows);
  return [
    wide("How busy it was",
      make("div", { class: "lanes" },
        make("ol", { class: "names", "aria-hidden": "true" }, rows.map((row) => make("li", { title: row.name }, row.name))),
        make("div", {}, canvas, make("p", { class: "quiet ends" }, clock(from.toISOString()), clock(to.toISOString()))))),
    head.total > rows.length ? make("p", { class: "quiet" }, `${rows.length} of ${head.total} rows are drawn.`) : null,
    make("details", {},
      make("summary", {}, "The same as a table"),
      table(["From ", clock(from.toISOString()), " to ", clock(to.toISOString())], [
        { name: head.by, value: (row) => row.name },
        { name: "busy", value: (row) => share(row.busy), number: true },
        { name: "parts with a failure", value: (row) => String(row.failed), number: true },
      ], rows)),
  ];
}

function paint(canvas, rows) {
  const style = getComputedStyle(document.documentElement);
  const [busy, lost, ground] = ["--map", "--lost", "--panel"].map((name) => rgb(style.getPropertyValue(name).trim()));
  const image = new ImageData(canvas.width, canvas.height);
  rows.forEach((row, number) => {
    for (let column = 0; column < canvas.width; column++) {
      const cell = row.own[column];
      const part = (cell & FULL) / FULL;
      // Whatever ran at all is seen: the weakest shade is a quarter.
      const weight = part ? 0.25 + 0.75 * part : 0;
      const colour = cell >= FAILED ? lost : ground.map((from, channel) => from + (busy[channel] - from) * weight);
      for (let y = number * LANE; y < (number + 1) * LANE - 2; y++) image.data.set([...colour, 255], 4 * (y * canvas.width + column));
    }
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function rgb(text) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = text;
  const hex = probe.fillStyle;
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
