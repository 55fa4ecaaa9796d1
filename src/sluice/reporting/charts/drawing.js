// Draws the charts of a page, and draws them again when the window or the colour scheme changes.
//
// A specification is made for a wide, light page. Before it is drawn, a copy of it is fitted: plots
// take the width of the window, titles are wrapped, and dark mode replaces colours. Data stay as
// they are, except for the colours that they name.
(() => {
  "use strict";
  const page = JSON.parse(document.getElementById("specification").textContent);
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const NARROW = 640, PLOT_MAX = 1700, STRETCHED = 700;
  const COLOUR_KEY = /^(background|fill|stroke|range|.*color)$/i;
  const DATA_COLOURS = ["colour", "ink"];
  const pen = document.createElement("canvas").getContext("2d");

  function wrapped(text, size, width) {
    if (Array.isArray(text)) return text.flatMap((line) => wrapped(line, size, width));
    pen.font = `600 ${size}px Arial, sans-serif`;
    const lines = [""];
    // A unit stays with its number.
    for (const word of String(text).replace(/(\d) (?=%|[hms]\b)/g, "$1\u00a0").split(" ")) {
      const last = lines[lines.length - 1];
      const longer = last ? `${last} ${word}` : word;
      if (!last || pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  // One line stays a text: an array would change how it is placed.
  function lines(text, size, width) {
    const found = wrapped(text, size, width);
    return found.length === 1 ? found[0] : found;
  }

  function colour(value, dark) {
    return dark && typeof value === "string" && Object.hasOwn(page.dark, value)
      ? page.dark[value]
      : value;
  }

  function rows(values, dark) {
    if (!dark || !Array.isArray(values)) return values;
    const named = DATA_COLOURS.filter((field) => values.length && field in values[0]);
    if (!named.length) return values;
    return values.map((row) => {
      const changed = { ...row };
      for (const field of named) changed[field] = colour(row[field], dark);
      return changed;
    });
  }

  // A copy of a specification for this window.
  function fitted(value, at) {
    if (Array.isArray(value)) return value.map((held) => fitted(held, at));
    if (value === null || typeof value !== "object") return value;
    const copy = {};
    for (const [key, held] of Object.entries(value)) {
      if (key === "data") copy.data = { ...held, values: rows(held.values, at.dark) };
      else if (key === "title" && held && typeof held === "object" && "text" in held)
        copy.title = title(held, at);
      else if (key === "select" && held.type === "interval" && page.isLong)
        copy.select = { ...held, zoom: "wheel![event.ctrlKey || event.metaKey]" };
      else if (key === "params")
        copy.params = fitted(held, at).map((one) =>
          one.name === "plot_width" ? { ...one, value: at.plot } : one);
      else if (key === "width" && typeof held === "number") copy.width = plotWidth(held, at);
      else if (key === "minExtent" || key === "maxExtent") copy[key] = Math.min(held, at.names);
      else if (key === "labelLimit") copy[key] = Math.min(held, at.names - 8);
      else if (key === "limit") copy[key] = Math.min(held, at.plot - 12);
      else if (key === "labelFontSize" && at.narrow) copy[key] = held - 1;
      else if (key === "tickCount" && at.narrow) copy[key] = Math.min(held, 5);
      else if (key === "columns" && at.narrow) copy[key] = 2;
      else if (key === "hconcat" && at.narrow) copy.vconcat = fitted(held, at);
      else if (COLOUR_KEY.test(key) && Array.isArray(held))
        copy[key] = held.map((one) => colour(one, at.dark));
      else if (COLOUR_KEY.test(key) && typeof held === "string") copy[key] = colour(held, at.dark);
      else copy[key] = fitted(held, at);
    }
    return copy;
  }

  function plotWidth(width, at) {
    return width >= STRETCHED ? at.plot : Math.min(width, at.plot);
  }

  function title(held, at) {
    const copy = { ...held, text: lines(held.text, held.fontSize || 15, at.title) };
    if (held.subtitle) copy.subtitle = lines(held.subtitle, 11.5, at.title);
    if (at.narrow) copy.frame = "bounds";
    return copy;
  }

  // Whether a specification has lanes with names; other axes of y have numbers and a title.
  function hasNames(value) {
    if (value === null || typeof value !== "object") return false;
    return "minExtent" in value
      || Object.entries(value).some(([key, held]) => key !== "data" && hasNames(held));
  }

  function room(element, specification) {
    const width = element.clientWidth;
    const narrow = width < NARROW;
    const names = !hasNames(specification) ? 68 : narrow ? 116 : 132;
    const margins = narrow ? 46 : 64; // around the plot and its names
    const plot = Math.max(120, Math.min(PLOT_MAX, Math.floor(width - names - margins)));
    return { narrow, names, plot, title: narrow ? width - 84 : plot, dark: prefersDark.matches };
  }

  async function embed(element, specification, at, actions) {
    const drawn = await vegaEmbed(element, fitted(specification, at), {
      ast: true,
      renderer: "svg",
      tooltip: { theme: at.dark ? "dark" : "light" },
      actions,
    });
    if (element.view && element.view !== drawn.view) element.view.finalize();
    element.view = drawn.view;
  }

  // The part of the overview that is chosen is the time that the chart shows, and the reverse.
  function link(chart, overview, zoom) {
    const shown = `${zoom}_start`;
    let driver = null, next;
    // What the other view says meanwhile is an echo. Only the last value of a drag has to be drawn.
    async function follow(source, view, signal, value) {
      if (driver !== null && driver !== source) return;
      next = value;
      if (driver !== null) return;
      driver = source;
      while (next !== undefined) {
        const wanted = next;
        next = undefined;
        await view.signal(signal, wanted).runAsync();
      }
      driver = null;
    }
    overview.addSignalListener("brush", (_, brushed) =>
      follow(overview, chart, shown, brushed.start ? brushed.start.map(Number) : null));
    chart.addSignalListener(shown, (_, domain) => {
      const scale = overview.scale("x"), width = overview.width();
      const edges = domain ? domain.map((at) => Math.max(0, Math.min(width, scale(at)))) : [0, 0];
      follow(chart, overview, "brush_x", edges);
    });
  }

  async function drawOverview(element, { zoom, view }, at) {
    let place = element.parentElement.querySelector(".overview");
    if (!place) {
      place = document.createElement("div");
      place.className = "overview";
      element.after(place);
    }
    await embed(place, view, at, false);
    link(element.view, place.view, zoom);
  }

  async function draw(element, specification) {
    const number = Number(element.dataset.drawing || 0) + 1;
    element.dataset.drawing = number;
    const at = room(element, specification);
    const { usermeta = {}, ...plain } = specification;
    const actions = { export: true, source: false, compiled: false, editor: false };
    await embed(element, plain, at, actions);
    if (usermeta.overview) await drawOverview(element, usermeta.overview, at);
    if (Number(element.dataset.drawing) === number) element.dataset.drawn = at.plot;
  }

  // One after the other, so that the first is visible soon.
  async function drawAll() {
    const elements = [...document.querySelectorAll(".chart")];
    for (const [place, element] of elements.entries()) {
      await draw(element, page.charts[place]).catch(console.error);
    }
  }

  let width = window.innerWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  prefersDark.addEventListener("change", drawAll);
  drawAll();
})();
