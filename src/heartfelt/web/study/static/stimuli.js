// Stimuli with their media, counts and means; what raters flagged; media that would not play.
import { button, element, moment, number, whole } from "./draw.js";
import { complain, get } from "./net.js";
import { play } from "./player.js";

const PAGE = 60;
const COLUMNS = {
  stimuli: ["stimulus", "system", "intent", "ratings", "means"],
  flags: ["stimulus", "rater", "reason", "comment", "when"],
  problems: ["stimulus", "rater", "problem", "when"],
};

export const stimuli = (host, tabs, search, image) => {
  const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
  const foot = element("p", "note", host);
  let which = "stimuli", total = 0, shown = 0, asking = 0;
  const named = (line, one) => {
    const what = element("th", "", line);
    what.scope = "row";
    what.className = "named";
    if (one.media) button("▶", what, () => play(one.media, one.stimulus, image), "media").setAttribute("aria-label", `Play ${one.stimulus}`);
    const text = element("span", "", what, one.stimulus || "–");
    text.title = one.prompt || one.stimulus || "";
  };
  const cell = (line, words, kind) => element("td", kind || "", line, words ?? "–");
  const add = (one) => {
    const line = element("tr", "", body);
    named(line, one);
    if (which === "stimuli") {
      cell(line, one.system);
      cell(line, one.intent);
      cell(line, `${whole(one.complete)}${one.leased ? ` +${one.leased}` : ""} / ${whole(one.quota)}`, "number tight");
      cell(line, one.media_problem || one.means.slice(0, 3).map((m) => number(m.mean, 1)).join(" · ") + (one.means.length > 3 ? " …" : ""), one.media_problem ? "warn" : "number tight").title = one.means.map((m) => `${m.question} ${number(m.mean)} (n = ${m.n})`).join("\n");
    } else {
      cell(line, (one.rater || "").slice(0, 10));
      cell(line, which === "flags" ? one.reason : one.problem);
      if (which === "flags") cell(line, one.comment || "", "long");
      cell(line, moment(one.at));
    }
  };
  const load = async (more) => {
    const mine = ++asking, from = more ? shown : 0, held = host.scrollTop;
    const size = more ? PAGE : Math.max(PAGE, shown);
    try {
      const query = which === "stimuli" ? `stimuli?offset=${from}&limit=${Math.min(500, size)}&search=${encodeURIComponent(search.value)}` : which;
      const found = await get(query);
      if (mine !== asking) return;
      const rows = found[which];
      if (!more) body.replaceChildren();
      rows.forEach(add);
      shown = from + rows.length;
      total = found.total ?? rows.length;
      foot.textContent = total ? (shown < total ? `${whole(shown)} of ${whole(total)}; scroll for more` : `${whole(total)} in all`) : { stimuli: "No stimulus matches.", flags: "Nobody has flagged anything.", problems: "All files have loaded so far." }[which];
      if (!more) host.scrollTop = held;
    } catch (problem) { complain(problem); }
  };
  const change = (next) => {
    which = next;
    shown = 0;
    for (const one of tabs.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one.dataset.list === which));
    search.disabled = which !== "stimuli";
    head.replaceChildren(...COLUMNS[which].map((words) => { const th = element("th", ["ratings", "means"].includes(words) ? "number" : "", null, words); th.scope = "col"; return th; }));
    load(false);
  };
  for (const one of tabs.querySelectorAll("button")) one.addEventListener("click", () => change(one.dataset.list));
  let typing = 0;
  search.addEventListener("input", () => { clearTimeout(typing); shown = 0; typing = setTimeout(() => load(false), 200); });
  host.addEventListener("scroll", () => { if (which === "stimuli" && shown < total && host.scrollTop + host.clientHeight > host.scrollHeight - 80) load(true); });
  change("stimuli");
  return () => load(false);
};
