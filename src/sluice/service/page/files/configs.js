// Time machine: other queues, tried on what this service ran. For operators; admins write and replay.

import { alert, clock, counted, make, refusal, saved, show, table, wide } from "./dom.js";
import { ask, askSlowly } from "./server.js";

const SPANS = [["day", 86400], ["hour", 3600], ["week", 604800], ["4 weeks", 2419200]];

export async function configsView(main, match, open, showError) {
  document.title = "Time machine · Sluice";
  const name = match[1] ? decodeURIComponent(match[1]) : "";
  const chosen = new URLSearchParams(location.search);
  let ended = false;
  const [all, own] = await Promise.all([ask("/v1/configs"), name ? ask(`/v1/configs/${encodeURIComponent(name)}`) : null]);
  const answer = make("div", { "aria-live": "polite" });
  const title = make("input", { id: "config-name", required: true, value: name, autocomplete: "off" });
  const text = make("textarea", { id: "config-text", rows: 12, spellcheck: "false" });
  text.value = own?.text ?? "";
  const sliders = shareSliders(text);
  const file = make("input", {
    id: "config-file", type: "file", accept: ".xml,.yaml,.yml",
    onchange: async () => {
      if (!file.files[0]) return;
      text.value = await file.files[0].text();
      sliders.draw();
    },
  });
  const refused = (error) => show(answer, refusal(error));
  const present = make("button", {
    type: "button",
    onclick: async () => {
      try {
        const found = await ask("/v1/queue-file");
        if (found.text === null) show(answer, alert("The file of the service has no queues."));
        else {
          text.value = found.text;
          sliders.draw();
        }
      } catch (error) {
        refused(error);
      }
    },
  }, "Present queues");
  const exported = make("button", {
    type: "button",
    onclick: async () => {
      try {
        saved(`${name}.yaml`, (await ask(`/v1/configs/${encodeURIComponent(name)}/service-file`)).text);
      } catch (error) {
        refused(error);
      }
    },
  }, "Save as service file");
  const write = async (event) => {
    event.preventDefault();
    try {
      const made = await ask("/v1/configs", { method: "POST", body: { name: title.value.trim(), text: text.value } });
      const query = event.submitter?.dataset.replays ? `?${new URLSearchParams({ replay: span.value, against: against.value, map: mapped.value })}` : "";
      open(`/configs/${encodeURIComponent(made.name)}${query}`);
    } catch (error) {
      refused(error);
    }
  };
  const span = make("select", { id: "replayed" }, SPANS.map(([word, seconds]) => make("option", { value: seconds, selected: chosen.get("replay") === String(seconds) }, word)));
  const against = make("select", { id: "against" },
    make("option", { value: "" }, "the present queues"),
    all.items.filter((one) => one.name !== name).map((one) => make("option", { value: one.name, selected: chosen.get("against") === one.name }, one.name)));
  const mapped = make("input", { id: "mapped", value: chosen.get("map"), placeholder: "*=root.default", autocomplete: "off" });
  const replay = async () => {
    const to = new Date();
    const body = { from: new Date(to - 1000 * Number(span.value)).toISOString(), to: to.toISOString() };
    if (against.value) body.against = against.value;
    if (mapped.value.includes("=")) body.map = Object.fromEntries(mapped.value.split(/[\s,]+/).filter((pair) => pair.includes("=")).map((pair) => pair.split("=")));
    show(answer, make("p", { class: "quiet" }, "Replaying …"));
    try {
      const found = await askSlowly(`/v1/configs/${encodeURIComponent(name)}/replays`, body, () => ended);
      if (!ended) show(answer, ...(found.state === "done" ? outcome(found.result) : [alert(found.problem)]));
    } catch (error) {
      if (!ended) refused(error);
    }
  };
  // A second press confirms: what changes is how the cluster is shared from then on.
  const put = make("button", {
    type: "button",
    onclick: async () => {
      if (!put.dataset.asked) {
        put.dataset.asked = "true";
        put.textContent = `Yes, version ${own.version} shares the cluster from now on`;
        return;
      }
      try {
        const made = await ask(`/v1/configs/${encodeURIComponent(name)}/activation`, { method: "POST", version: own.version });
        show(answer, make("p", { class: "lead" }, `Version ${made.version} is in effect: ${made.queues.join(", ")}.`));
      } catch (error) {
        refused(error);
      }
      delete put.dataset.asked;
      put.textContent = "Put into effect …";
    },
  }, "Put into effect …");
  show(main,
    make("h1", {}, "Time machine"),
    make("p", { class: "lead" }, "What would the jobs of the past have waited under other queues?"),
    all.items.length ? table(counted(all.items.length, "configuration"), [
      { name: "name", value: (row) => make("a", { href: `/configs/${encodeURIComponent(row.name)}` }, row.name) },
      { name: "queues", value: (row) => String(row.queues.length), number: true },
      { name: "version", value: (row) => String(row.version), number: true },
      { name: "by", value: (row) => row.author },
      { name: "at", value: (row) => clock(row.made_at) },
    ], all.items) : make("p", { class: "empty" }, "No configuration was written yet. Begin with the present queues, or with the file of a scheduler: capacity-scheduler.xml, fair-scheduler.xml, or YAML of YuniKorn or Kueue."),
    own ? make("section", {},
      make("h2", {}, `Replay ${own.name}`),
      own.unknown_keys.length ? make("p", { class: "notice" }, `${counted(own.unknown_keys.length, "key")} not simulated: ${own.unknown_keys.join(", ")}`) : null,
      make("p", { class: "tools" },
        make("label", { for: "replayed" }, "The last", span),
        make("label", { for: "against" }, "Compare with", against),
        make("label", { for: "mapped" }, "Queues of other jobs", mapped),
        make("button", { type: "button", onclick: replay }, "Replay"),
        put,
        exported),
      answer) : answer,
    make("h2", {}, own ? "Edit" : "A new configuration"),
    make("form", { onsubmit: write },
      make("p", { class: "tools" }, make("label", { for: "config-name" }, "Name", title), make("label", { for: "config-file" }, "File", file), present),
      sliders.element,
      make("label", { for: "config-text", class: "quiet" }, "Text"),
      text,
      make("p", { class: "tools" },
        make("button", {}, own ? "Write a new version" : "Write it"),
        make("button", { "data-replays": "true" }, "Write and replay"))),
    own?.diff ? make("details", {}, make("summary", {}, `What version ${own.version} changed`), wide("Difference", make("pre", {}, own.diff))) : null);
  if (own && chosen.has("replay")) replay();
  return { end: () => { ended = true; } };
}

function outcome(result) {
  const rows = Object.entries(result.queues).map(([queue, found]) => ({ queue, ...found, change: found.difference?.wait_s_p95 ?? null }));
  const isSure = (row) => row.change && (row.change.low > 0 || row.change.high < 0);
  const winners = rows.filter((row) => isSure(row) && row.change.mean < 0);
  const losers = rows.filter((row) => isSure(row) && row.change.mean > 0);
  const word = (row) => {
    if (!row.change) return "–";
    const text = `${signed(row.change.mean)} s (${signed(row.change.low)} to ${signed(row.change.high)})`;
    return isSure(row) ? `${row.change.mean < 0 ? "✓ less" : "✕ more"}: ${text}` : `no clear difference: ${text}`;
  };
  return [
    make("p", { class: "lead" }, winners.length || losers.length
      ? `${counted(winners.length, "queue")} would wait less at p95${winners.length ? ` (${winners.map((row) => row.queue).join(", ")})` : ""}, ${losers.length} longer${losers.length ? ` (${losers.map((row) => row.queue).join(", ")})` : ""}.`
      : rows.some((row) => row.change) ? "No queue would clearly wait less or longer."
        : "There is nothing to compare with: the file of the service has no queues."),
    table(`Waits in seconds, ${counted(rows.reduce((sum, row) => sum + (row.new?.jobs ?? 0), 0), "job")}`, [
      { name: "queue", value: (row) => row.queue },
      { name: "jobs", value: (row) => String(row.new?.jobs ?? 0), number: true },
      { name: "p50 now", value: (row) => seconds(row.old?.wait_s?.p50), by: (row) => row.old?.wait_s?.p50, number: true },
      { name: "p50 then", value: (row) => seconds(row.new?.wait_s?.p50), by: (row) => row.new?.wait_s?.p50, number: true },
      { name: "p95 now", value: (row) => seconds(row.old?.wait_s?.p95), by: (row) => row.old?.wait_s?.p95, number: true },
      { name: "p95 then", value: (row) => seconds(row.new?.wait_s?.p95), by: (row) => row.new?.wait_s?.p95, number: true },
      { name: "p95, 95 % of difference", value: word, by: (row) => row.change?.mean },
    ], rows),
  ];
}

function seconds(number) {
  return number === null || number === undefined ? "–" : number.toFixed(1);
}

function signed(number) {
  return `${number > 0 ? "+" : number < 0 ? "−" : ""}${Math.abs(number).toFixed(1)}`;
}

// Sliders for the shares of queues in a file of YARN. They write the text; the rest of it stays as it is.

const PERCENT = /<name>\s*yarn\.scheduler\.capacity\.([^<\s]+)\.(capacity|maximum-capacity)\s*<\/name>\s*<value>\s*(\d+(?:\.\d+)?)\s*(w?)\s*%?\s*<\/value>/dg;
const FAIR = /<(?:queue|pool)\b[^>]*?\bname\s*=\s*["']([^"']*)["'][^>]*?(\/?)>|<\/(?:queue|pool)>|<weight>\s*(\d+(?:\.\d+)?)\s*<\/weight>/dg;
const WORDS = { capacity: "Capacity", "maximum-capacity": "Maximum", weight: "Weight" };
const TENTHS = 10;
const WEIGHT_MAX = 10;

/** The numbers of a file that sliders move: {queue, kind, value, from, to}; from, to: where its digits are. */
function sharesOf(text) {
  const plain = text.replace(/<!--[\s\S]*?-->/g, (comment) => " ".repeat(comment.length));
  const found = [...plain.matchAll(PERCENT)].map((match) => numberAt(match, 3, match[1], match[4] ? "weight" : match[2]));
  const path = [];
  for (const match of plain.matchAll(FAIR)) {
    if (match[3] !== undefined) {
      if (path.length) found.push(numberAt(match, 3, path.join("."), "weight"));
    } else if (match[1] === undefined) path.pop();
    else if (!match[2]) path.push(match[1]);
  }
  return found;
}

function numberAt(match, group, queue, kind) {
  const [from, to] = match.indices[group];
  return { queue, kind, value: Number(match[group]), from, to };
}

/** The text with another value of one number. Capacities of one parent keep their sum, and no maximum is below its capacity. */
function changedText(text, changed, value) {
  const all = sharesOf(text);
  const values = new Map(all.map((one) => [one, one.value]));
  const own = all.find((one) => one.queue === changed.queue && one.kind === changed.kind);
  values.set(own, value);
  if (own.kind === "capacity") share(all.filter((one) => one !== own && one.kind === "capacity" && parentOf(one) === parentOf(own)), own, values);
  for (const one of all) {
    const least = all.find((other) => other.kind === "capacity" && other.queue === one.queue);
    if (one.kind === "maximum-capacity" && least) values.set(one, Math.max(values.get(one), values.get(least)));
  }
  let written = text;
  for (const one of [...all].sort((first, second) => second.from - first.from))
    if (values.get(one) !== one.value) written = written.slice(0, one.from) + values.get(one) + written.slice(one.to);
  return written;
}

/** Give the other queues of a parent what is left of 100, in their old proportions and in tenths. */
function share(others, own, values) {
  const before = others.reduce((sum, one) => sum + one.value, 0);
  if (!others.length || Math.abs(before + own.value - 100) > 0.01) return;
  let left = Math.round(TENTHS * (100 - values.get(own)));
  let weight = before;
  others.forEach((one, number) => {
    const part = weight > 0 ? one.value / weight : 1 / (others.length - number);
    const tenths = number === others.length - 1 ? left : Math.round(left * part);
    values.set(one, tenths / TENTHS);
    left -= tenths;
    weight -= one.value;
  });
}

const parentOf = (one) => one.queue.split(".").slice(0, -1).join(".");

/** {element, draw}: sliders for the text of an area; draw() after another text was put there. */
function shareSliders(area) {
  const element = make("div", {});
  const texts = (one) => (one.kind === "weight" ? String(one.value) : `${one.value} %`);
  const draw = () => {
    const all = sharesOf(area.value);
    const fields = all.map((one) => {
      const said = make("output", { class: "whole" }, texts(one));
      const only = one.kind === "capacity" && one.value === 100 && !all.some((other) => other !== one && other.kind === "capacity" && parentOf(other) === parentOf(one));
      const field = make("input", {
        type: "range", min: one.kind === "weight" ? "0.1" : "0", max: one.kind === "weight" ? String(Math.max(WEIGHT_MAX, 4 * one.value)) : "100",
        step: one.kind === "weight" || !Number.isInteger(one.value) ? "0.1" : "1", value: String(one.value),
        "aria-label": `${WORDS[one.kind]} of ${one.queue}`, "aria-valuetext": texts(one), disabled: only,
        oninput: () => {
          area.value = changedText(area.value, one, Number(field.value));
          for (const now of sharesOf(area.value)) {
            const row = fields.find((other) => other.one.queue === now.queue && other.one.kind === now.kind);
            if (!Number.isInteger(now.value)) row.field.step = "0.1";
            row.field.value = String(now.value);
            row.field.setAttribute("aria-valuetext", texts(now));
            row.said.textContent = texts(now);
          }
        },
      });
      return { one, field, said };
    });
    show(element, fields.length
      ? make("fieldset", { class: "sliders" }, make("legend", {}, `${counted(fields.length, "share")} of queues`),
        fields.map(({ one, field, said }) => make("label", {}, make("span", {}, `${WORDS[one.kind]} of ${one.queue}`), field, said)))
      : area.value.trim() ? make("p", { class: "quiet" }, "Sliders are for the files of YARN; edit the text of this one.") : null);
  };
  area.addEventListener("input", draw);  // not "change": what is pressed next would move away
  draw();
  return { element, draw };
}
