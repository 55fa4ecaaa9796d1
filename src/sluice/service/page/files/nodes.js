// The nodes: which are up, how full they are, and what runs there.

import { counted, make, show, table } from "./dom.js";
import { ask } from "./server.js";
import { timelinePicture } from "./timeline.js";

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
        { name: "jobs", value: (row) => (row.jobs.length ? make("span", {}, row.jobs.flatMap((id, number) => [number ? ", " : "", id.startsWith("job-") ? make("a", { href: `/jobs/${id}` }, id) : id])) : null) },
        { name: "last fault", value: (row) => row.fault ?? "" },
      ], nodes) : make("p", { class: "empty" }, "No node has come yet."));
  };
  await Promise.all([draw(), picture.draw()]);
  let timer = null;
  return {
    onChange: () => { timer ??= setTimeout(() => { timer = null; draw().catch(() => {}); picture.draw().catch(() => {}); }, REFRESH_MS); },
    end: () => clearTimeout(timer),
  };
}
