"use strict";
// Tables that sort by their headings and show that they scroll, paragraphs that copy.
((heartfelt) => {
  const { element } = heartfelt;
  const collator = new Intl.Collator("en", { numeric: true });
  const key = (cell) => (cell === undefined ? "" : cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim());
  const compare = (a, b) => {
    const empty = (v) => v === "" || v === "–" || Number.isNaN(v);
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
  };
  const blank = (v) => v === "" || v === "–" || Number.isNaN(v);

  // A frame that is wider than its place says so; how far it is scrolled shows at its edges (see the style).
  const hints = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const scrolls = target.scrollWidth > target.clientWidth + 1;
      target.classList.toggle("scrolls", scrolls);
      const hint = target.previousElementSibling;
      if (hint?.classList.contains("scroll-hint")) hint.hidden = !scrolls;
    }
  });
  const frame = (wide) => {
    const hint = element("p", "scroll-hint", null, "Scroll sideways for more columns");
    hint.hidden = true;
    wide.before(hint);
    hints.observe(wide);
  };
  for (const wide of document.querySelectorAll(".wide")) frame(wide);

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
        rows.sort(([a], [b]) => (blank(a) || blank(b) ? compare(a, b) : down ? compare(b, a) : compare(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    const caption = button.textContent;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy).innerText.trim();
      let done = false;
      try { await navigator.clipboard.writeText(text); done = true; } catch {
        const area = element("textarea", "aside", document.body);
        area.value = text;
        area.select();
        done = document.execCommand("copy");
        area.remove();
        button.focus();
      }
      button.textContent = done ? "Copied" : "Select the text and copy it";
      setTimeout(() => { button.textContent = caption; }, 1800);
    });
  }
  Object.assign(heartfelt, { compare, blank, frame });
})(window.heartfelt);
