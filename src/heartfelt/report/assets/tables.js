"use strict";
// Tables that sort by their headings, paragraphs that copy, and the list of stimuli.
(({ data, element, number, play, playable }) => {
  const collator = new Intl.Collator("en", { numeric: true });
  const key = (cell) => (cell === undefined ? "" : cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim());
  const compare = (a, b) => {
    const empty = (v) => v === "" || v === "–" || Number.isNaN(v);
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
  };
  const blank = (v) => v === "" || v === "–" || Number.isNaN(v);

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

  const host = document.getElementById("stimuli-list");
  const list = data.stimuli;
  if (!host || !list) return;
  const columns = list.columns, rows = list.rows, page = 25;
  const named = list.names || {};
  let shown = rows.map((_, place) => place), first = 0, sorted = null, down = false;
  const bar = element("div", "bar", host);
  const label = element("label", "", bar, "Find ");
  const find = element("input", "", label);
  find.type = "search";
  find.placeholder = list.hint || "";
  const count = element("span", "count", bar);
  count.setAttribute("role", "status");
  const wide = element("div", "wide", host);
  wide.tabIndex = 0;
  wide.setAttribute("role", "region");
  wide.setAttribute("aria-label", "Stimuli and their labels");
  const table = element("table", "", wide);
  const head = element("tr", "", element("thead", "", table));
  const body = element("tbody", "", table);
  const pager = element("div", "bar", host);
  const back = element("button", "", pager, "Previous"), place = element("span", "count", pager), on = element("button", "", pager, "Next");
  back.type = on.type = "button";
  const heads = columns.map((column, c) => {
    const cell = element("th", column.kind === "text" ? "words" : "", head);
    cell.scope = "col";
    cell.setAttribute("aria-sort", "none");
    const button = element("button", "", cell, column.label);
    button.type = "button";
    button.addEventListener("click", () => { down = sorted === c ? !down : column.kind !== "text"; sorted = c; sort(); first = 0; show(); });
    return cell;
  });
  const value = (row, c) => (columns[c].names ? named[row[c]] ?? row[c] : row[c]);
  const sort = () => {
    heads.forEach((cell, c) => cell.setAttribute("aria-sort", c === sorted ? (down ? "descending" : "ascending") : "none"));
    if (sorted === null) return;
    shown.sort((a, b) => {
      const u = rows[a][sorted] ?? "", v = rows[b][sorted] ?? "";
      return (blank(u) || blank(v) ? compare(u, v) : down ? compare(v, u) : compare(u, v)) || a - b;
    });
  };
  const say = (row) => columns.map((column, c) => (c ? `${column.label} ${column.kind === "number" ? number(row[c], column.places ?? 2) : value(row, c) ?? ""}` : row[c])).join("\n");
  const show = () => {
    body.replaceChildren();
    for (const index of shown.slice(first, first + page)) {
      const line = element("tr", "", body);
      columns.forEach((column, c) => {
        const content = value(rows[index], c);
        const cell = element(c ? "td" : "th", column.kind === "text" ? "words" : "", line);
        if (c) { cell.textContent = column.kind === "number" ? number(content, column.places ?? 2) : content ?? "–"; return; }
        cell.scope = "row";
        if (playable(content)) {
          const button = element("button", "listen", cell, data.image ? "◻" : "▶");
          button.type = "button";
          button.setAttribute("aria-label", `Play ${content}`);
          button.addEventListener("click", () => play(content, say(rows[index]), line));
        }
        cell.append(content);
      });
    }
    const last = Math.min(first + page, shown.length);
    count.textContent = `${shown.length.toLocaleString("en")} of ${list.total.toLocaleString("en")}${list.total > rows.length ? ` (the first ${rows.length.toLocaleString("en")} are listed here)` : ""}`;
    place.textContent = shown.length ? `${first + 1} to ${last}` : "nothing found";
    back.disabled = first === 0;
    on.disabled = last >= shown.length;
  };
  back.addEventListener("click", () => { first = Math.max(0, first - page); show(); });
  on.addEventListener("click", () => { first += page; show(); });
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = columns.map((column, c) => (column.kind === "text" ? c : -1)).filter((c) => c >= 0);
    shown = [];
    rows.forEach((row, index) => {
      const text = texts.map((c) => `${row[c] ?? ""} ${value(row, c) ?? ""}`).join(" ").toLowerCase();
      if (words.every((word) => text.includes(word))) shown.push(index);
    });
    sort();
    first = 0;
    show();
  });
  show();
})(window.heartfelt);
