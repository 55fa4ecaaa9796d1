// Tokens, tenants, templates, and who did what: for admins.

import { clock, counted, make, problemText, show, table } from "./dom.js";
import { ask } from "./server.js";

const ROLES = ["viewer", "submitter", "operator", "admin"];
const WRITTEN = ["name", "version", "author", "made_at"]; // of a row that an admin has written; not its limits

export async function adminView(main, _match, _open, showError) {
  document.title = "Admin · Sluice";
  const made = make("p", { role: "status" });
  const draw = async () => {
    const [tokens, audit, about, tenants, templates, processes] = await Promise.all(["tokens", "audit?limit=50", "about", "tenants", "templates", "processes"].map((what) => ask(`/v1/${what}`)));
    show(main,
      make("h1", {}, "Admin"),
      make("p", { class: "lead" }, `Sluice ${about.release}; ${counted(tokens.total, "token")}.`),
      table("Processes of the service", [
        { name: "process", value: (row) => row.process },
        { name: "pid", value: (row) => row.pid ?? "does not answer" },
        { name: "memory", value: (row) => row.pid ? `${Math.round(row.rss_bytes / 1e6)} MB` : "–", by: (row) => row.rss_bytes, number: true },
        { name: "started", value: (row) => clock(row.started_at) },
        { name: "lag", value: (row) => row.pid ? `${Math.round(1000 * row.lag_s)} ms` : "–", by: (row) => row.lag_s, number: true },
      ], processes.items),
      make("h2", {}, "Tokens"),
      tokens.items.length ? table("A secret is shown once, when its token is made", [
        { name: "name", value: (row) => row.name },
        { name: "tenant", value: (row) => row.tenant },
        { name: "role", value: (row) => row.role },
        { name: "made", value: (row) => clock(row.made_at) },
        { name: "last used", value: (row) => clock(row.used_at) },
        { name: "change", fixed: true, value: (row) => make("button", { type: "button", class: "danger", onclick: () => revoke(row) }, `Revoke ${row.name}`) },
      ], tokens.items) : make("p", { class: "empty" }, "No token was made: only the account of the service may do anything."),
      form(),
      made,
      make("h2", {}, "Tenants with limits"),
      tenants.items.length ? table(counted(tenants.total, "tenant"), [
        { name: "tenant", value: (row) => row.name },
        { name: "limits", value: limits },
      ], tenants.items) : make("p", { class: "empty" }, "No tenant has limits: PUT /v1/tenants/NAME sets some."),
      make("h2", {}, "Templates"),
      templates.items.length ? table(counted(templates.total, "template"), [
        { name: "template", value: (row) => row.name },
        { name: "about", value: (row) => row.about ?? "" },
        { name: "parameters", value: (row) => Object.keys(row.parameters ?? {}).join(", ") },
      ], templates.items) : make("p", { class: "empty" }, "There is no template: PUT /v1/templates/NAME adds one."),
      make("h2", {}, "Who did what"),
      table("The newest first; refusals too", [
        { name: "at", value: (row) => clock(row.at) },
        { name: "who", value: (row) => row.who ? `${row.who} (${row.tenant}, ${row.via})` : "unknown" },
        { name: "what", value: (row) => row.action },
        { name: "answer", value: (row) => String(row.result), number: true },
        { name: "request", value: (row) => row.request_id },
      ], audit.items, { cut: audit.next ? audit.items.length : null }));
  };
  const revoke = async (row) => {
    try {
      await ask(`/v1/tokens/${encodeURIComponent(row.name)}`, { method: "DELETE" });
      made.textContent = `The token of ${row.name} is worth nothing any more.`;
      await draw();
    } catch (error) {
      showError(error);
    }
  };
  const form = () => {
    const name = make("input", { id: "token-name", required: true, autocomplete: "off" });
    const tenant = make("input", { id: "token-tenant", required: true, autocomplete: "off" });
    const role = make("select", { id: "token-role" }, ROLES.map((one) => make("option", { value: one }, one)));
    return make("form", {
      class: "tools",
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          const body = { name: name.value.trim(), tenant: tenant.value.trim(), role: role.value };
          const found = await ask("/v1/tokens", { method: "POST", body });
          await draw();
          show(made, `Token of ${found.name}, shown this once: `, make("code", {}, found.token));
        } catch (error) {
          made.textContent = problemText(error);
        }
      },
    },
    make("label", { for: "token-name" }, "Name", name),
    make("label", { for: "token-tenant" }, "Tenant", tenant),
    make("label", { for: "token-role" }, "Role", role),
    make("button", {}, "Make a token"));
  };
  await draw();
  return {};
}

/** What is set of the limits of a tenant, in words. */
function limits(row) {
  return Object.entries(row).filter(([name, value]) => value && !WRITTEN.includes(name))
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ");
}
