"use strict";
(({ data, figures, play }) => {
  // On the first screen: all systems on one map, with a line from where an intent was meant to be to where it is perceived.
  const together = (figure) => {
    const points = figure.panels.flatMap((panel) => panel.points);
    const crosses = [...new Map(figure.panels.flatMap((panel) => panel.crosses || []).map((cross) => [cross.label, cross])).values()];
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const means = [], lines = [];
    for (const cross of crosses) {
      const own = points.filter((point) => point.intent === cross.label);
      if (!own.length) continue;
      const [x, y] = [mean(own.map((point) => point.x)), mean(own.map((point) => point.y))];
      means.push({ x, y, group: cross.group, label: cross.label, words: `${cross.label}: perceived\nmean of ${own.length} stimuli` });
      lines.push({ x1: cross.x, y1: cross.y, x2: x, y2: y, group: cross.group });
    }
    return { ...figure, panels: [{ ...figure.panels[0], title: "", note: "", size: 540, points, crosses, means, lines, stars: [], ellipses: [] }] };
  };
  const opening = (figure, most) => {
    if (figure.type === "map") return together(figure);
    const row = ({ rows }) => Math.max(12, Math.min(Math.floor((rows.length > 24 ? 470 : 340) / rows.length), 48));
    return { ...figure, panels: figure.panels.slice(0, most).map((panel) => (figure.type === "intervals" ? { ...panel, row: row(panel) } : panel)) };
  };
  for (const host of document.querySelectorAll("[data-figure]")) {
    const figure = (data.figures || {})[host.dataset.figure];
    if (!figure || !figures[figure.type]) continue;
    host.replaceChildren();
    figures[figure.type](host, host.dataset.opening ? opening(figure, Number(host.dataset.opening)) : figure);
  }
  for (const button of document.querySelectorAll("[data-stimulus]")) {
    button.addEventListener("click", () => play(button.dataset.stimulus, button.dataset.words || button.dataset.stimulus, button));
  }

  // A link into a folded part opens it, also where the browser does not do so by itself.
  const reveal = (hash) => {
    const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target) return;
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", () => reveal(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (link && link.hash === location.hash) reveal(link.hash);
  });
  if (location.hash) reveal(location.hash);

  const parts = [...document.querySelectorAll("details.part")], every = document.getElementById("open-all");
  if (every) {
    const label = () => { every.textContent = parts.every((part) => part.open) ? "Close all" : "Open all"; };
    every.hidden = false;
    every.addEventListener("click", () => { const open = parts.some((part) => !part.open); for (const part of parts) part.open = open; });
    for (const part of parts) part.addEventListener("toggle", label);
  }
  // Closed parts are opened for print and closed again after it.
  let opened = [];
  addEventListener("beforeprint", () => { opened = [...document.querySelectorAll("details:not([open])")]; for (const part of opened) part.open = true; });
  addEventListener("afterprint", () => { for (const part of opened) part.open = false; });
})(window.heartfelt);
