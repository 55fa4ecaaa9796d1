// Plans: faster or cheaper? A click on a plan shows it, and a second one puts it to work.

import { alert, counted, dialog, duration, make, problemText, refusal, share, show, table, wide } from "./dom.js";
import { ask, askSlowly } from "./server.js";

const WIDTH = 560;
const HEIGHT = 240;
const EDGE = { left: 64, right: 16, top: 12, bottom: 34 };

export async function plansView(main, _match, open, showError) {
  document.title = "Plans · Sluice";
  const answer = make("div", { "aria-live": "polite" });
  let ended = false;
  const text = make("textarea", { id: "workload", rows: 8, spellcheck: "false", placeholder: "version: 1\ncluster: ..\nprices: ..\njobs: .." });
  const file = make("input", {
    id: "file", type: "file", accept: ".yaml,.yml,.json",
    onchange: async () => { if (file.files[0]) text.value = await file.files[0].text(); },
  });
  const budget = make("input", { id: "budget", type: "number", min: "0", step: "any" });
  const hours = make("input", { id: "hours", type: "number", min: "0", step: "any" });
  const plan = async (event) => {
    event.preventDefault();
    const body = { workload: text.value };
    if (budget.value) body.budget_usd = Number(budget.value);
    if (hours.value) body.deadline_s = 3600 * Number(hours.value);
    show(answer, make("p", { class: "quiet" }, "Planning …"));
    try {
      const found = await askSlowly("/v1/plans", body, () => ended);
      if (ended) return;
      if (found.state !== "done") show(answer, alert(found.problem));
      else if (!found.result.plans.length) show(answer, make("p", { class: "notice" }, nothing(found.result)));
      else picker(answer, found, open);
    } catch (error) {
      if (error.problem) show(answer, refusal(error));
      else showError(error);
    }
  };
  show(main,
    make("h1", {}, "Plans"),
    make("p", { class: "lead" }, "Which clusters are worth renting for a set of jobs: no plan here is both slower and dearer than another."),
    make("form", { onsubmit: plan },
      make("p", { class: "tools" },
        make("label", { for: "file" }, "Workload file", file),
        make("label", { for: "budget" }, "Budget in $", budget),
        make("label", { for: "hours" }, "Deadline in hours", hours)),
      make("label", { for: "workload", class: "quiet" }, "or its text, with jobs and prices"),
      text,
      make("p", {}, make("button", {}, "Plan"))),
    answer);
  return { end: () => { ended = true; } };
}

function nothing(result) {
  const best = [];
  if (result.fastest_makespan_s) best.push(`the fastest takes ${duration(result.fastest_makespan_s)}`);
  if (result.least_budget_usd) best.push(`the cheapest costs ${dollars(result.least_budget_usd)}`);
  return `No plan keeps to this budget and deadline${best.length ? `: ${best.join(", ")}` : ""}.`;
}

function picker(place, found, open) {
  const { plans, knee } = found.result;
  const rentedBy = (plan) => Object.values(plan.jobs).reduce((sum, job) => sum + job.vms, 0);
  const detail = make("div", {});
  const marks = new Map();
  const choose = (plan) => {
    for (const [number, mark] of marks) mark.setAttribute("class", number === plan.number ? "dot chosen" : "dot");
    show(detail,
      table(`Jobs of plan ${plan.number}`, [
        { name: "job", value: ([name]) => name },
        { name: "VMs", value: ([, job]) => String(job.vms), number: true },
        { name: "slots", value: ([, job]) => String(job.containers ?? `${job.map_slots} + ${job.reduce_slots}`), number: true },
        { name: "time", value: ([, job]) => duration(job.time_s), by: ([, job]) => job.time_s, number: true },
        { name: "cost", value: ([, job]) => dollars(job.cost_usd), by: ([, job]) => job.cost_usd, number: true },
      ], Object.entries(plan.jobs)),
      make("p", { class: "tools" }, make("button", { type: "button", onclick: () => confirmed(found, plan, rentedBy(plan), open) }, `Put plan ${plan.number} to work …`)));
  };
  const first = plans.find((plan) => plan.number === knee) ?? plans[0];
  const drawing = frontier(plans, (plan) => {
    const radio = place.querySelector(`input[value="${plan.number}"]`);
    radio.checked = true;
    choose(plan);
  }, marks);
  show(place,
    make("p", { class: "lead" }, `${counted(plans.length, "plan")}: from ${duration(plans[0].makespan_s)} for ${dollars(plans[0].budget_usd)} to ${duration(plans.at(-1).makespan_s)} for ${dollars(plans.at(-1).budget_usd)}.`),
    make("div", { class: "plans" },
      wide("Time against cost", drawing),
      make("fieldset", {},
        make("legend", {}, "Plan"),
        plans.map((plan) => make("label", { class: "plan" },
          make("input", {
            type: "radio", name: "plan", value: plan.number, checked: plan === first,
            onchange: () => choose(plan),
          }),
          make("span", {}, `${plan.number}: ${duration(plan.makespan_s)}, ${dollars(plan.budget_usd)}, ${counted(rentedBy(plan), "VM")}`),
          plan.number === knee ? make("span", { class: "quiet" }, " knee: a higher budget saves little time") : null,
          plan.misses.length ? make("span", { class: "failed" }, ` ✕ misses the deadline of ${plan.misses.join(", ")}`) : null)))),
    detail);
  choose(first);
}

function frontier(plans, onChoose, marks) {
  const times = plans.map((plan) => plan.makespan_s);
  const costs = plans.map((plan) => plan.budget_usd);
  const scale = (values, from, to) => {
    const low = Math.min(...values), high = Math.max(...values);
    return (value) => from + ((high > low ? (value - low) / (high - low) : 0.5)) * (to - from);
  };
  const x = scale(times, EDGE.left + 10, WIDTH - EDGE.right - 10);
  const y = scale(costs, HEIGHT - EDGE.bottom - 10, EDGE.top + 10);
  const drawing = make("svg", { class: "frontier", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Time against cost; the list has the same plans" });
  drawing.append(
    make("line", { class: "lane", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: HEIGHT - EDGE.bottom, y2: HEIGHT - EDGE.bottom }),
    make("line", { class: "lane", x1: EDGE.left, x2: EDGE.left, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
    make("text", { x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, `time, up to ${duration(Math.max(...times))}`),
    make("text", { x: EDGE.left, y: HEIGHT - 6 }, duration(Math.min(...times))),
    make("text", { x: EDGE.left - 6, y: EDGE.top + 14, "text-anchor": "end" }, dollars(Math.max(...costs))),
    make("text", { x: EDGE.left - 6, y: HEIGHT - EDGE.bottom - 6, "text-anchor": "end" }, dollars(Math.min(...costs))),
    make("path", { class: "step", d: plans.map((plan, number) => `${number ? "L" : "M"}${x(plan.makespan_s).toFixed(1)} ${y(plan.budget_usd).toFixed(1)}`).join("") }));
  for (const plan of plans) {
    const mark = make("rect", {
      class: "dot", x: x(plan.makespan_s) - 5, y: y(plan.budget_usd) - 5, width: 10, height: 10, rx: 5,
      onclick: () => onChoose(plan),
    }, make("title", {}, `Plan ${plan.number}: ${duration(plan.makespan_s)}, ${dollars(plan.budget_usd)}`));
    marks.set(plan.number, mark);
    drawing.append(mark);
  }
  return drawing;
}

function confirmed(found, plan, vms, open) {
  const names = Object.keys(plan.jobs);
  const slots = (job) => job.containers ?? job.map_slots + job.reduce_slots;
  const all = Object.values(plan.jobs).reduce((sum, job) => sum + slots(job), 0);
  const problem = make("p", { role: "alert" });
  const key = crypto.randomUUID();
  dialog(`Put plan ${plan.number} to work?`, (close, fill) => [
    make("p", {}, `${counted(names.length, "job")} for ${dollars(plan.budget_usd)} on ${counted(vms, "VM")}, done after ${duration(plan.makespan_s)}.`),
    table("Shares while they run", [
      { name: "job", value: ([name]) => name },
      { name: "share", value: ([, job]) => share(slots(job) / all), number: true },
    ], Object.entries(plan.jobs)),
    problem,
    make("p", { class: "tools" },
      make("button", {
        type: "button",
        onclick: async () => {
          try {
            const made = await ask(`/v1/plans/${found.answer_id}/choice`, { method: "POST", body: { plan: plan.number }, key });
            const leave = () => { close(); open("/queue"); };
            if (!made.to_rent) leave();
            else fill(`${counted(names.length, "job")} submitted`,
              make("p", {}, `The plan rents ${counted(vms, "VM")}, ${made.to_rent} more than are up: with fewer it takes longer.`),
              make("p", {}, make("button", { type: "button", onclick: leave }, "To the queue")));
          } catch (error) {
            problem.textContent = problemText(error);
          }
        },
      }, `Submit ${counted(names.length, "job")}`),
      make("button", { type: "button", onclick: close }, "Not now")),
  ]);
}

function dollars(amount) {
  return `$${amount.toFixed(2)}`;
}
