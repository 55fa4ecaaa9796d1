// The frame of the page: which view is shown, the top bar, the keys, and logging in.

import { adminView } from "./admin.js";
import { capacityView } from "./capacity.js";
import { compareView } from "./compare.js";
import { configsView } from "./configs.js";
import { fairnessView } from "./fairness.js";
import { jobView } from "./job.js";
import { logView } from "./log.js";
import { nodesView } from "./nodes.js";
import { observedView, steeringView } from "./observed.js";
import { plansView } from "./plans.js";
import { profileView, profilesView, promisesView } from "./profiles.js";
import { queueView } from "./queue.js";
import { submitView } from "./submit.js";
import { counted, loading, make, problemText, select, show } from "./dom.js";
import { Refused, ask, follow } from "./server.js";

const VIEWS = [
  [/^\/(queue)?$/, queueView],
  [/^\/jobs\/([^/]+)$/, jobView],
  [/^\/jobs\/([^/]+)\/logs\/([^/]+)$/, logView],
  [/^\/promises$/, promisesView],
  [/^\/submit$/, submitView],
  [/^\/plans$/, plansView],
  [/^\/capacity$/, capacityView],
  [/^\/profiles$/, profilesView],
  [/^\/profiles\/([^/]+)$/, profileView],
  [/^\/fairness$/, fairnessView],
  [/^\/configs(?:\/([^/]+))?$/, configsView],
  [/^\/compare$/, compareView],
  [/^\/nodes$/, nodesView],
  [/^\/observed\/([^/]+)$/, observedView],
  [/^\/steering$/, steeringView],
  [/^\/admin$/, adminView],
  [/^\/login$/, loginView],
  [/^\/shared$/, sharedView],
];
const UNKNOWN_AT = ["/login", "/shared"];  // where one is who is not known yet
const LINK_REFRESH_MS = 2000;
const LOADING_MS = 200;  // a view that is there sooner needs no word for it
const main = document.getElementById("main");
let current = null;
let shown = 0;

/** Go to a view. It gets: where to draw, its match, `open` and `showError`; it gives {onChange?, end?}. */
export async function open(path, { replaces = false, keepsFocus = false } = {}) {
  if (replaces) history.replaceState(null, "", path);
  else if (path !== location.pathname + location.search) history.pushState(null, "", path);
  const number = ++shown;
  current?.end?.();
  current = null;
  for (const link of document.querySelectorAll("nav a"))
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  // Before it is loaded: what the user has gone to in the meantime keeps the focus.
  if (!keepsFocus) main.focus({ preventScroll: true });
  // A view draws into a place of its own: one that was left draws what is not seen.
  const place = make("div", {});
  const left = main.firstChild;
  const arrive = () => { if (number === shown && main.firstChild === left) show(main, place); };
  const fail = (error) => { if (number === shown) showError(error); };
  setTimeout(() => {
    if (!place.firstChild) show(place, loading());
    arrive();
  }, LOADING_MS);
  const found = VIEWS.map(([pattern, view]) => [location.pathname.match(pattern), view]).find(([match]) => match);
  try {
    const view = await (found ? found[1](place, found[0], open, fail) : Promise.reject(new Refused(404, { what: "There is no such view", hint: "choose one above", where: "" })));
    arrive();
    if (number === shown) current = view;
    else view?.end?.();
  } catch (error) {
    fail(error);
  }
}

/** An error: what, hint, and a way to try again; a view that needs a log-in asks for it. */
export function showError(error) {
  if (error.status === 401 && !UNKNOWN_AT.includes(location.pathname)) {
    open(`/login?to=${encodeURIComponent(location.pathname + location.search)}`, { replaces: true });
    return;
  }
  document.title = "Error · Sluice";
  show(main,
    make("h1", {}, error.status === 403 ? "Not allowed" : "This cannot be shown"),
    make("div", { class: "notice", role: "alert" },
      make("p", {}, problemText(error)),
      error.problem?.request_id ? make("p", { class: "quiet" }, `Request ${error.problem.request_id}`) : null,
      make("button", { type: "button", onclick: () => open(location.pathname + location.search) }, "Try again")));
}

/** A link to one job: it is shown to who has the link, without a log-in. */
async function sharedView() {
  const token = location.hash.slice(1);
  await ask("/v1/session", { method: "POST", body: { token } });
  const content = token.slice(3).split(".")[0].replaceAll("-", "+").replaceAll("_", "/");
  const [job] = JSON.parse(atob(content));
  location.replace(`/jobs/${encodeURIComponent(job)}`);
}

async function loginView(main, _match, open) {
  document.title = "Log in · Sluice";
  const target = new URLSearchParams(location.search).get("to") ?? "/queue";
  const to = target.startsWith("/") && !target.startsWith("//") ? target : "/queue";
  const code = location.hash.slice(1);
  const problem = make("p", { role: "alert" });
  const enter = async (token) => {
    try {
      await ask("/v1/session", { method: "POST", body: { token } });
      location.replace(to);  // the stream starts again, as who has logged in
    } catch (error) {
      problem.textContent = problemText(error);
    }
  };
  const token = make("input", { id: "token", type: "password", autocomplete: "off", required: true });
  show(main,
    make("h1", {}, "Log in"),
    make("p", { class: "lead" }, "Give a token, or open the address that ", make("code", {}, "sluice page"), " prints."),
    make("form", {
      class: "tools",
      onsubmit: (event) => { event.preventDefault(); enter(token.value.trim()); },
    }, make("label", { for: "token" }, "Token", token), make("button", {}, "Log in")),
    problem);
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    await enter(code);
  }
  return {};
}

async function showCluster() {
  const place = document.getElementById("cluster");
  try {
    const found = await ask("/v1/queues");
    place.textContent = found.nodes_up
      ? `${counted(found.nodes_up, "node")} up, ${found.used} of ${counted(found.slots, "slot")} used`
      : "No node is up: jobs wait";
  } catch {
    place.textContent = "";
  }
}

async function showWho() {
  try {
    const who = await ask("/v1/whoami");
    // Recorded runs can be looked at by everybody, and changed by none.
    const role = who.recorded ? "viewer" : who.role;
    document.body.dataset.changes = String(role !== "viewer");
    document.getElementById("submit").hidden = role === "viewer";
    document.getElementById("admin").hidden = role !== "admin";
    document.getElementById("configs").hidden = !["operator", "admin"].includes(role);
    for (const link of document.querySelectorAll("nav a.of-service")) link.hidden = who.recorded;
    const whose = who.user === who.tenant ? who.role : `${who.tenant}, ${who.role}`;
    document.getElementById("who").textContent =
      `${who.user} (${whose})${who.shared_user ? "; all tenants run as one account" : ""}`;
    return who;
  } catch {
    document.getElementById("who").textContent = "";
    return null;
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
setTheme(localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light"));
dark.addEventListener("change", () => {
  if (!localStorage.getItem("theme")) setTheme(dark.matches ? "dark" : "light");
});
document.getElementById("theme").addEventListener("click", () => {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", theme);
  setTheme(theme);
});

const keys = document.getElementById("keys");
document.getElementById("help").addEventListener("click", () => keys.showModal());

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  open(link.getAttribute("href"));  // a link in a drawing has no path of its own
});
addEventListener("popstate", () => open(location.pathname + location.search));

let before = "";
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
  const pair = before + event.key;
  before = event.key === "g" ? "g" : "";
  const rows = [...document.querySelectorAll("tbody tr[data-key]")];
  const at = rows.findIndex((row) => row.getAttribute("data-selected") === "true");
  const go = { gq: "/queue", gs: "/submit", gl: "/plans", gp: "/promises", gc: "/capacity", gr: "/profiles", gf: "/fairness", gt: "/configs", gn: "/nodes", ga: "/admin" }[pair];
  if (go) open(go);
  else if (event.key === "?") keys.showModal();
  else if (event.key === "/") {
    event.preventDefault();
    document.querySelector("input[type=search]")?.focus();
  } else if (rows.length && (event.key === "j" || event.key === "k")) {
    select(rows[Math.min(rows.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))]);
  } else if (event.key === "x") rows[at]?.querySelector("input[type=checkbox]")?.click();
  else if (event.key === "c") document.getElementById("compare")?.click();
  else if (event.key === "Enter" && at >= 0 && event.target === main) rows[at].querySelector("a")?.click();
});

const live = document.getElementById("live");
let pending = false;
async function start() {
  const who = await showWho();
  if (who?.via === "link") {  // it shows one job alone
    document.querySelector("nav").hidden = true;
    document.querySelector(".brand").removeAttribute("href");
    setInterval(() => current?.onChange?.(null), LINK_REFRESH_MS);
    return;
  }
  follow(
    (rows) => {
      current?.onChange?.(rows);
      if (pending) return;
      pending = true;
      setTimeout(() => { pending = false; showCluster(); }, 1000);
    },
    (state) => { live.textContent = state === "live" ? "live ●" : "live: off ○"; },
  );
  showCluster();
}
if (!UNKNOWN_AT.includes(location.pathname)) start();  // who logs in comes back with another page
open(location.pathname + location.search + location.hash, { replaces: true });
