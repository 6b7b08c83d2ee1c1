// Stimuli with their media, counts and means; what raters flagged; media that would not play.
import { button, element, moment, number, whole } from "./draw.js";
import { complain, get } from "./net.js";
import { play } from "./player.js";

const PAGE = 60;
const COLUMNS = {
  stimuli: ["stimulus", "ratings", "means"],
  flags: ["stimulus", "rater", "reason", "comment", "when"],
  problems: ["stimulus", "rater", "problem", "when"],
};

export const stimuli = (host, tabs, search, image) => {
  const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
  const foot = element("p", "note", host, "Loading…");
  let which = "stimuli", total = 0, shown = 0, asking = 0;
  const named = (line, row) => {
    const what = element("th", "", line);
    what.scope = "row";
    what.className = "named";
    if (row.media) button("▶", what, () => play(row.media, row.stimulus, image), "media").setAttribute("aria-label", `Play ${row.stimulus}`);
    const text = element("span", "", what, row.stimulus || "–");
    text.title = row.prompt || row.stimulus || "";
    const facts = [row.system, row.intent].filter(Boolean).join(" · ");
    if (facts) element("small", "", what, facts);
  };
  const cell = (line, words, kind) => element("td", kind || "", line, words ?? "–");
  const add = (row) => {
    const line = element("tr", "", body);
    named(line, row);
    if (which === "stimuli") {
      cell(line, row.quota === 0 ? "not asked" : `${whole(row.complete)}${row.leased ? ` +${row.leased}` : ""} / ${whole(row.quota)}`, "number tight");
      cell(line, row.media_problem || row.means.slice(0, 3).map((m) => number(m.mean, 1)).join(" · ") + (row.means.length > 3 ? " …" : ""), row.media_problem ? "warn" : "number tight").title = row.means.map((m) => `${m.question} ${number(m.mean)} (n = ${m.n})`).join("\n");
    } else {
      cell(line, (row.rater || "").slice(0, 10));
      cell(line, which === "flags" ? row.reason : row.problem);
      if (which === "flags") cell(line, row.comment || "", "long");
      cell(line, moment(row.at));
    }
  };
  const load = async (more) => {
    const mine = ++asking, from = more ? shown : 0, held = host.scrollTop;
    const size = more ? PAGE : Math.max(PAGE, shown);
    try {
      const query = which === "stimuli" ? `stimuli?offset=${from}&limit=${Math.min(500, size)}&search=${encodeURIComponent(search.value)}` : which;
      const reply = await get(query);
      if (mine !== asking) return;
      const rows = reply[which];
      if (!more) body.replaceChildren();
      rows.forEach(add);
      shown = from + rows.length;
      if (!more) table.classList.toggle("no-means", which === "stimuli" && rows.every((row) => !row.means.length && !row.media_problem));
      total = reply.total ?? rows.length;
      foot.textContent = total ? (shown < total ? `${whole(shown)} of ${whole(total)}; scroll for more` : `${whole(total)} in all`) : { stimuli: "No stimulus matches.", flags: "Nobody has flagged anything.", problems: "All files have loaded so far." }[which];
      if (!more) host.scrollTop = held;
    } catch (problem) { complain(problem); }
  };
  const change = (next) => {
    which = next;
    shown = 0;
    for (const tab of tabs.querySelectorAll("button")) tab.setAttribute("aria-pressed", String(tab.dataset.list === which));
    search.disabled = which !== "stimuli";
    head.replaceChildren(...COLUMNS[which].map((words) => { const th = element("th", ["ratings", "means"].includes(words) ? "number" : "", null, words); th.scope = "col"; return th; }));
    load(false);
  };
  for (const tab of tabs.querySelectorAll("button")) tab.addEventListener("click", () => change(tab.dataset.list));
  let typing = 0;
  search.addEventListener("input", () => { clearTimeout(typing); shown = 0; typing = setTimeout(() => load(false), 200); });
  host.addEventListener("scroll", () => { if (which === "stimuli" && shown < total && host.scrollTop + host.clientHeight > host.scrollHeight - 80) load(true); });
  change("stimuli");
  return () => load(false);
};
