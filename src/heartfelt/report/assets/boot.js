"use strict";
(({ data, figures, play }) => {
  for (const host of document.querySelectorAll("[data-figure]")) {
    const figure = (data.figures || {})[host.dataset.figure];
    if (!figure || !figures[figure.type]) continue;
    host.replaceChildren();
    figures[figure.type](host, figure);
  }
  for (const button of document.querySelectorAll("[data-stimulus]")) {
    button.addEventListener("click", () => play(button.dataset.stimulus, button.dataset.words || button.dataset.stimulus, button));
  }
  // Closed parts are opened for print and closed again after it.
  let opened = [];
  addEventListener("beforeprint", () => { opened = [...document.querySelectorAll("details.print:not([open])")]; for (const part of opened) part.open = true; });
  addEventListener("afterprint", () => { for (const part of opened) part.open = false; });
})(window.heartfelt);
