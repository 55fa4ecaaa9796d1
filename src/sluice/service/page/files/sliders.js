// Sliders for the shares of queues in a file of YARN. They write the text; the rest of it stays as it is.

import { counted, make, show } from "./dom.js";

const PERCENT = /<name>\s*yarn\.scheduler\.capacity\.([^<\s]+)\.(capacity|maximum-capacity)\s*<\/name>\s*<value>\s*(\d+(?:\.\d+)?)\s*(w?)\s*%?\s*<\/value>/dg;
const FAIR = /<(?:queue|pool)\b[^>]*?\bname\s*=\s*["']([^"']*)["'][^>]*?(\/?)>|<\/(?:queue|pool)>|<weight>\s*(\d+(?:\.\d+)?)\s*<\/weight>/dg;
const WORDS = { capacity: "Capacity", "maximum-capacity": "Maximum", weight: "Weight" };
const TENTHS = 10;
const WEIGHT_MAX = 10;

/** The numbers of a file that sliders move: {queue, kind, value, from, to}; from, to: where its digits are. */
export function sharesOf(text) {
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
export function changedText(text, changed, value) {
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
export function shareSliders(area) {
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
