// Fairness over weeks: who was entitled to what, used, lent and borrowed, and what is owed to whom.

import { clock, counted, loading, make, problemText, share, show, table } from "./dom.js";
import { ask } from "./server.js";

const SPANS = [["13 weeks", 13 * 604800, 604800], ["week", 604800, 86400], ["day", 86400, 3600], ["hour", 3600, 300]];
const RULES = { long_term: "for ever", decay: "halved each week", fair: "no memory" };
const WIDTH = 220;
const HEIGHT = 34;

export async function fairnessView(main, _match, _open, showError) {
  document.title = "Fairness · Sluice";
  const chosen = make("select", { id: "span" }, SPANS.map(([name], number) => make("option", { value: number }, name)));
  const place = make("div", {}, loading());
  const draw = async () => {
    const [, seconds, period] = SPANS[Number(chosen.value)];
    const to = new Date();
    const query = new URLSearchParams({ period_s: period, from: new Date(to - 1000 * seconds).toISOString(), to: to.toISOString() });
    try {
      show(place, ...ledger(await ask(`/v1/fairness?${query}`)));
    } catch (error) {
      if (error.status !== 422) throw error;
      show(place, make("p", { class: "empty" }, chosen.value === "0" ? "No task ran yet." : problemText(error)));
    }
  };
  chosen.addEventListener("change", () => draw().catch(showError));
  show(main,
    make("h1", {}, "Fairness"),
    make("p", { class: "tools" }, make("label", { for: "span" }, "The last", chosen)),
    place);
  await draw();
  return {};
}

function ledger(found) {
  const rows = Object.entries(found.shares);
  const most = rows.reduce((one, other) => (other[1].owed.long_term > one[1].owed.long_term ? other : one));
  const lead = most[1].owed.long_term > 0.005
    ? `The cluster owes most to ${most[0]}: ${hours(most[1].owed.long_term)} container-hours that it lent and did not get back.`
    : "Nothing was lent: each had what it wanted, or no more than its share.";
  return [
    make("p", { class: "lead" }, lead),
    make("p", { class: "quiet" }, `The rule in force is ${found.rule}; shares are those of ${found.holders}.`),
    table(["From ", clock(found.from), " to ", clock(found.to), ", in container-hours"], [
      { name: found.holders === "queues" ? "queue" : "tenant", value: ([name]) => name },
      { name: "paid", value: ([, row]) => share(row.share / found.containers), by: ([, row]) => row.share, number: true },
      { name: "entitled", value: ([, row]) => hours(row.entitled), by: ([, row]) => row.entitled, number: true },
      { name: "used", value: ([, row]) => hours(row.used) + (row.used_usd === null ? "" : ` ($${row.used_usd.toFixed(2)})`), by: ([, row]) => row.used, number: true },
      { name: "lent", value: ([, row]) => hours(row.lent), by: ([, row]) => row.lent, number: true },
      { name: "borrowed", value: ([, row]) => hours(row.borrowed), by: ([, row]) => row.borrowed, number: true },
      { name: "owed over time", value: ([name]) => curve(name, found.periods), fixed: true },
      ...Object.entries(RULES).map(([rule, words]) => ({
        name: `owed, ${words}`, value: ([, row]) => signed(row.owed[rule]), by: ([, row]) => row.owed[rule], number: true,
      })),
    ], rows),
    make("details", {},
      make("summary", {}, "The same by period"),
      table(counted(found.periods.length, "period"), [
        { name: "from", value: (row) => clock(row.from) },
        { name: "who", value: (row) => row.name },
        { name: "used", value: (row) => hours(row.used), by: (row) => row.used, number: true },
        { name: "lent", value: (row) => hours(row.lent), by: (row) => row.lent, number: true },
        { name: "borrowed", value: (row) => hours(row.borrowed), by: (row) => row.borrowed, number: true },
        { name: "owed since the beginning", value: (row) => signed(row.owed.long_term), by: (row) => row.owed.long_term, number: true },
      ], found.periods.flatMap((period) => Object.entries(period.shares).map(([name, row]) => ({ from: period.from, name, ...row }))))),
  ];
}

function curve(name, periods) {
  const values = periods.map((period) => period.shares[name]?.owed.long_term ?? 0);
  const most = Math.max(...values.map(Math.abs), 0.001);
  const x = (number) => 4 + ((WIDTH - 8) * (number + 0.5)) / values.length;
  const y = (value) => HEIGHT / 2 - ((HEIGHT / 2 - 4) * value) / most;
  const drawing = make("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Owed to ${name}: ${values.map((value) => signed(value)).join(", ")}` });
  drawing.append(
    make("line", { class: "lane", x1: 4, x2: WIDTH - 4, y1: HEIGHT / 2, y2: HEIGHT / 2 }),
    make("path", { class: "step", d: values.map((value, number) => `${number ? "L" : "M"}${x(number).toFixed(1)} ${y(value).toFixed(1)}`).join("") }));
  values.forEach((value, number) => drawing.append(make("rect", { class: "dot", x: x(number) - 2, y: y(value) - 2, width: 4, height: 4, rx: 2 })));
  return drawing;
}

function hours(number) {
  return number >= 100 ? Math.round(number).toLocaleString() : number.toFixed(number >= 1 ? 1 : 3);
}

function signed(number) {
  return Math.abs(number) < 5e-4 ? "0" : `${number > 0 ? "+" : "−"}${hours(Math.abs(number))}`;
}
