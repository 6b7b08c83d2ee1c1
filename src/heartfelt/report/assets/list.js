"use strict";
// A long list in pages: search, filters, sorting by a heading. ``data[name]`` holds columns and rows, such as ``stimuli_list`` in report/sections/outcome.py makes.
(({ data, element, number, play, playable, compare, blank, frame }) => {
  const size = 25;
  const many = (count) => count.toLocaleString("en");

  const show = (host, list) => {
    const { columns, rows } = list, named = list.names || {};
    // Where the list comes in the order of a column, that order needs no sorting here.
    const order = list.order || rows.map((_, place) => place);
    let shown = order, first = 0, sorted = list.sorted ?? null, down = sorted !== null, texts = null;
    const value = (row, c) => (columns[c].names ? named[row[c]] ?? row[c] : row[c]);
    const written = (column, content) => (column.kind === "number" ? number(content, column.places ?? 2) : content ?? "–");
    const say = (row) => columns.map((column, c) => (c ? `${column.label} ${written(column, value(row, c))}` : row[c])).join("\n");

    const bar = element("div", "bar", host);
    bar.setAttribute("role", "search");
    const find = element("input", "", element("label", "", bar, "Find "));
    find.type = "search";
    find.placeholder = list.hint || "";
    const filters = columns.flatMap((column, c) => {
      if (!column.filter) return [];
      const label = element("label", "", bar, column.filter === "least" ? `${column.label} at least ` : `${column.label} `);
      const input = element(column.filter === "least" ? "input" : "select", "", label);
      input.dataset.filter = column.label;
      if (column.filter === "least") { input.type = "number"; input.step = "any"; return [[c, input]]; }
      element("option", "", input, "all").value = "";
      const given = [...new Set(rows.map((row) => row[c]).filter((each) => each !== null))];
      given.map((each) => [each, String(named[each] ?? each)]).sort((a, b) => compare(a[1], b[1])).forEach(([each, words]) => { element("option", "", input, words).value = each; });
      return [[c, input]];
    });
    const count = element("span", "count", bar);
    count.setAttribute("role", "status");
    const wide = element("div", "wide", host);
    wide.tabIndex = 0;
    wide.setAttribute("role", "region");
    wide.setAttribute("aria-label", list.title || "Stimuli and their labels");
    const table = element("table", "", wide);
    const head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
    frame(wide);
    const pager = element("div", "bar", host);
    const back = element("button", "", pager, "Previous"), place = element("span", "count", pager), on = element("button", "", pager, "Next");
    back.type = on.type = "button";
    const heads = columns.map((column, c) => {
      const cell = element("th", column.kind === "text" ? "words" : "", head);
      cell.scope = "col";
      cell.setAttribute("aria-sort", "none");
      const button = element("button", "", cell, column.label);
      button.type = "button";
      button.addEventListener("click", () => { down = sorted === c ? !down : column.kind !== "text"; sorted = c; sort(); first = 0; draw(); });
      return cell;
    });
    const sort = () => {
      heads.forEach((cell, c) => cell.setAttribute("aria-sort", c === sorted ? (down ? "descending" : "ascending") : "none"));
      if (sorted === null || (list.order && down && sorted === list.sorted)) return;
      shown.sort((a, b) => {
        const u = rows[a][sorted] ?? "", v = rows[b][sorted] ?? "";
        return (blank(u) || blank(v) ? compare(u, v) : down ? compare(v, u) : compare(u, v)) || a - b;
      });
    };

    const fill = (cell, column, c, index, line) => {
      const content = value(rows[index], c);
      if (list.colours?.[rows[index][c]]) element("span", "swatch", cell).style.background = list.colours[rows[index][c]];
      if (c === 0 && playable(content)) {
        const button = element("button", "listen", cell, data.image ? "◻" : "▶");
        button.type = "button";
        button.setAttribute("aria-label", `Play ${content}`);
        button.addEventListener("click", () => play(content, say(rows[index]), line));
      }
      if (c === 0 && list.chosen) {
        const button = element("button", "choose", cell, content);
        button.type = "button";
        button.dataset.row = index;
        button.addEventListener("click", () => host.dispatchEvent(new CustomEvent("chosen", { detail: index })));
      } else if (column.links) {
        element("a", "", cell, content).href = list.links[index];
      } else {
        cell.append(written(column, content));
      }
    };
    const draw = () => {
      body.replaceChildren();
      for (const index of shown.slice(first, first + size)) {
        const line = element("tr", "", body);
        columns.forEach((column, c) => {
          const cell = element(c ? "td" : "th", column.kind === "text" ? "words" : "", line);
          if (!c) cell.scope = "row";
          if (column.long) cell.classList.add("long");
          fill(cell, column, c, index, line);
        });
      }
      const last = Math.min(first + size, shown.length);
      count.textContent = `${many(shown.length)} of ${many(list.total)}${list.total > rows.length ? ` (the first ${many(rows.length)} are listed here)` : ""}`;
      place.textContent = shown.length ? `${many(first + 1)} to ${many(last)}` : "nothing found";
      back.disabled = first === 0;
      on.disabled = last >= shown.length;
    };
    const turn = (step) => { const to = first + step * size; if (to >= 0 && to < shown.length) { first = to; draw(); return true; } return false; };
    back.addEventListener("click", () => turn(-1));
    on.addEventListener("click", () => turn(1));
    // Arrow keys go from row to row, and over to the next page.
    host.addEventListener("keydown", (event) => {
      const buttons = [...body.querySelectorAll(".choose")], here = buttons.indexOf(document.activeElement);
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (here < 0 || !step) return;
      event.preventDefault();
      const to = buttons[here + step] || (turn(step) ? [...body.querySelectorAll(".choose")].at(step > 0 ? 0 : -1) : null);
      if (!to) return;
      to.focus();
      host.dispatchEvent(new CustomEvent("chosen", { detail: Number(to.dataset.row) }));
    });
    const search = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      const from = columns.map((column, c) => (column.kind === "text" ? c : -1)).filter((c) => c >= 0);
      if (words.length) texts ??= rows.map((row) => from.map((c) => `${row[c] ?? ""} ${value(row, c) ?? ""}`).join(" ").toLowerCase());
      const asked = filters.filter(([, input]) => input.value !== "").map(([c, input]) => [c, columns[c].filter === "least" ? Number(input.value) : input.value]);
      const passes = (row) => asked.every(([c, wanted]) => (typeof wanted === "number" ? row[c] !== null && row[c] >= wanted : String(row[c]) === wanted));
      shown = order.filter((index) => passes(rows[index]) && words.every((word) => texts[index].includes(word)));
      sort();
      first = 0;
      draw();
    };
    find.addEventListener("input", search);
    for (const [, input] of filters) input.addEventListener("input", search);
    if (list.find) find.value = list.find;
    search();
  };

  for (const host of document.querySelectorAll("[data-list]")) if (data[host.dataset.list]) show(host, data[host.dataset.list]);
})(window.heartfelt);
