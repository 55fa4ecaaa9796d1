// Logging in: by the link that `sluice serve` prints, or by a token.

import { make, problemText, show } from "./dom.js";
import { ask } from "./server.js";

/** A link to one job: it is shown to who has the link, without a log-in. */
export async function sharedView() {
  const token = location.hash.slice(1);
  await ask("/v1/session", { method: "POST", body: { token } });
  const content = token.slice(3).split(".")[0].replaceAll("-", "+").replaceAll("_", "/");
  const [job] = JSON.parse(atob(content));
  location.replace(`/jobs/${encodeURIComponent(job)}`);
}

export async function loginView(main, _match, open) {
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
