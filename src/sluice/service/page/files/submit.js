// Submit: when would this job be done, what does it cost, and does it keep its deadline? Then a click.

import { alert, dollars, duration, interval, clock, make, refusal, share, show, table } from "./dom.js";
import { ask } from "./server.js";

const COMMAND = "";  // no template: a command of the user

export async function submitView(main, _match, open, showError) {
  document.title = "Submit · Sluice";
  const chosen = new URLSearchParams(location.search);
  const [who, queues, { items: templates }] = await Promise.all([
    ask("/v1/whoami"), ask("/v1/queues"), ask("/v1/templates"),
  ]);
  const mayAny = who.quotas.commands === "any" || who.role === "admin";
  const kinds = [...(mayAny ? [[COMMAND, "a command"]] : []), ...templates.map((one) => [one.name, `template ${one.name}`])];
  if (!kinds.length) {
    show(main, make("h1", {}, "Submit"), make("p", { class: "empty" },
      `The tenant ${who.tenant} may submit jobs of templates alone, and there is none: ask an admin for one.`));
    return null;
  }
  const answer = make("div", { "aria-live": "polite" });
  const fields = make("div", {});
  const kind = make("select", { id: "kind", onchange: () => drawFields() },
    kinds.map(([value, text]) => make("option", { value, selected: chosen.get("template") === value }, text)));
  const queue = make("input", { id: "queue", list: "queues", value: chosen.get("queue"), placeholder: "its own" });
  const deadline = make("input", { id: "deadline", type: "datetime-local", step: "1", value: chosen.get("deadline") });
  let read = null;
  const drawFields = () => {
    const template = templates.find((one) => one.name === kind.value);
    read = template ? argumentFields(fields, template) : commandFields(fields);
    show(answer);
  };
  drawFields();
  const quote = async (event) => {
    event.preventDefault();
    show(answer, make("p", { class: "quiet" }, "Simulating the queue with this job …"));
    try {
      const job = read();
      const body = { jobs: [job] };
      if (queue.value.trim()) body.queue = queue.value.trim();
      if (deadline.value) body.goal = { deadline_at: new Date(deadline.value).toISOString() };
      const found = await ask("/v1/quotes", { method: "POST", body });
      show(answer, quoted(found, job, open));
    } catch (error) {
      if (error.problem && error.status !== 401) show(answer, refusal(error));
      else showError(error);
    }
  };
  show(main,
    make("h1", {}, "Submit"),
    make("p", { class: "lead" }, "When would a job be done, what does it cost, and does it keep its deadline? Nothing is submitted before you say so."),
    make("form", { onsubmit: quote },
      make("p", { class: "tools" },
        make("label", { for: "kind" }, "What to run", kind),
        make("label", { for: "queue" }, "Queue", queue),
        make("label", { for: "deadline" }, "Deadline (optional)", deadline),
        make("datalist", { id: "queues" }, queues.queues.map((one) => make("option", { value: one.queue })))),
      fields,
      make("p", {}, make("button", { class: "first" }, "Ask for a promise"))),
    answer);
  return null;
}

/** The fields of a job that runs a command. Gives what reads them. */
function commandFields(place) {
  const name = field("name", "Name", { required: true, maxlength: 200, placeholder: "report" });
  const input = field("input", "Input: absolute paths or URLs, one a line", { html: "textarea", required: true, rows: 2, placeholder: "/data/logs/*.txt" });
  const output = field("output", "Output: an absolute path", { required: true, placeholder: "/data/out/{job_id}" });
  const mapper = field("mapper", "Command of each map", { required: true, placeholder: 'grep -o "[a-z]*"' });
  const reducer = field("reducer", "Command of each reduce (optional)", { placeholder: "uniq -c" });
  show(place, make("div", { class: "fields" }, [name, input, output, mapper, reducer].map((one) => one.label)));
  return () => {
    const run = {
      input: input.control.value.split("\n").map((line) => line.trim()).filter(Boolean),
      output: output.control.value.trim(), mapper: mapper.control.value,
    };
    if (reducer.control.value.trim()) run.reducer = reducer.control.value;
    return { id: name.control.value.trim(), run };
  };
}

/** The fields of the arguments of a template. Gives what reads them. */
function argumentFields(place, template) {
  const known = Object.entries(template.parameters ?? {}).map(([name, parameter]) => {
    const isNumber = ["integer", "number"].includes(parameter.type);
    const about = parameter.about ? `${name}: ${parameter.about}` : name;
    const found = field(`argument-${name}`, about, parameter.choices
      ? { html: "select", options: parameter.choices }
      : { type: isNumber ? "number" : "text", step: parameter.type === "integer" ? "1" : "any",
        min: parameter.at_least, max: parameter.at_most, required: parameter.default === undefined });
    if (parameter.default !== undefined) found.control.value = parameter.default;
    return [name, parameter, found];
  });
  show(place,
    template.about ? make("p", {}, template.about) : null,
    make("div", { class: "fields" }, known.map(([, , one]) => one.label)));
  return () => {
    const values = {};
    for (const [name, parameter, { control }] of known) {
      const of = parameter.choices?.find((one) => String(one) === control.value);
      if (of !== undefined) values[name] = of;
      else if (control.value !== "") values[name] = control.type === "number" ? Number(control.value) : control.value;
    }
    return { template: template.name, arguments: values };
  };
}

function field(id, text, { html = "input", options = [], ...given }) {
  const control = make(html, { id, ...given, ...(html === "select" ? {} : { spellcheck: "false" }) },
    options.map((one) => make("option", { value: String(one) }, String(one))));
  return { control, label: make("label", { for: id }, text, control) };
}

/** What is promised, and buttons that take it, or one of the changes that keep the deadline. */
function quoted(found, job, open) {
  const { promise } = found;
  const problem = make("div", {});
  const key = crypto.randomUUID();
  const submit = (offer) => make("button", {
    type: "button", class: offer === null ? "first" : null,
    onclick: async (event) => {
      event.target.disabled = true;
      try {
        const body = { job, quote_id: found.quote_id, ...(offer === null ? {} : { offer }) };
        const made = await ask("/v1/jobs", { method: "POST", body, key: `${key}-${offer ?? "as-asked"}` });
        open(`/jobs/${encodeURIComponent(made.job_id)}`);
      } catch (error) {
        event.target.disabled = false;
        show(problem, error.problem ? refusal(error) : alert(String(error)));
      }
    },
  }, offer !== null ? "Submit with this" : found.counter_offers.length ? "Submit it as asked" : "Submit it");
  return [
    make("h2", {}, "What is promised"),
    make("p", { class: "lead" }, ...sentence(promise)),
    promise.reason && promise.decision === "refused" ? make("p", { class: "notice" }, `It would be refused: ${promise.reason.text}.`) : null,
    found.counter_offers.length ? table("What would keep the deadline", [
      { name: "change", value: (row) => changeOf(row) },
      { name: "ends", value: (row) => clock(row.ends_at) },
      { name: "in time", value: (row) => share(row.deadline_probability), number: true },
      { name: "take it", fixed: true, value: (row) => (row.kind === "more_vms" ? "an operator adds nodes" : submit(found.counter_offers.indexOf(row))) },
    ], found.counter_offers) : null,
    make("p", { class: "tools" }, submit(null), make("span", { class: "quiet" }, "A quote is good for a minute.")),
    problem,
  ];
}

function sentence(promise) {
  if (!promise.ends_at?.expected) {
    const low = promise.ends_at?.low;
    const why = promise.why_not ?? promise.reason?.text ?? "";
    return [low ? "It ends not before " : "No end can be promised", low ? clock(low) : "", why ? `: ${why}.` : "."];
  }
  const cost = promise.cost_usd ? `, for ${dollars(promise.cost_usd)}` : "";
  const found = ["It would be done at ", interval(promise.ends_at), cost, "."];
  if (promise.deadline_at) {
    const chance = promise.deadline_probability;
    const isLikely = chance >= 0.9;
    found.push(make("strong", { class: isLikely ? "done" : "failed" },
      ` ${isLikely ? "✓" : "✕"} Deadline `, clock(promise.deadline_at),
      promise.deadline_guaranteed ? ": guaranteed." : `: in time with ${share(chance)}, not guaranteed.`));
  }
  return found;
}

function changeOf({ kind, change }) {
  if (kind === "later_deadline") return make("span", {}, "a deadline ", duration(change.deadline_s), " from now");
  if (kind === "other_queue") return `queue ${change.queue}`;
  return `${change.nodes_more} nodes more`;
}
