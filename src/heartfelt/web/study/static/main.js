// The dashboard: one screen, fed by the API; server-sent events report changes.
import { adjudication } from "./adjudication.js";
import { groups } from "./arms.js";
import { comparisons } from "./comparisons.js";
import { consistency } from "./consistency.js";
import { coverage } from "./coverage.js";
import { clock, element, moment, number, whole } from "./draw.js";
import { freeze } from "./freeze.js";
import { machine } from "./machine.js";
import { base, complain, get } from "./net.js";
import { raters } from "./raters.js";
import { recruit } from "./recruit.js";
import { reliability } from "./reliability.js";
import { stimuli } from "./stimuli.js";
import { systems } from "./systems.js";
import { tokens } from "./tokens.js";
import { traces } from "./traces.js";

const body = (id) => document.querySelector(`#${id} .body`);
const id = (name) => document.getElementById(name);
const study = await get("study");
const precision = id("precision");
let change = 0, answered = false;

// Before there are figures, the panels that the study will have.
const PAIRED = ["pair", "ab", "ranking", "best-worst"];
id("comparisons").hidden = study.sets === null;
id("consistency").hidden = !PAIRED.includes(study.sets);
id("reliability").hidden = study.sets !== null && study.questions.every((question) => question.level === "comparison");
id("systems").hidden = study.sets !== null;

const show = {
  coverage: coverage(body("coverage")),
  groups: groups(id("arms")),
  comparisons: comparisons(id("comparisons"), id("compared")),
  consistency: consistency(id("consistency"), id("compared")),
  reliability: reliability(body("reliability")),
  systems: systems(id("systems"), id("question"), precision, study),
  traces: traces(id("traces")),
  machine: machine(id("machine")),
  adjudication: adjudication(id("adjudication")),
  raters: raters(body("raters"), id("raters-hint"), () => { light(); heavy(); }, study.media === "image"),
  stimuli: stimuli(body("stimuli"), document.querySelector("#stimuli .tabs"), id("search"), study.media === "image"),
};

const facts = (data) => {
  const host = id("facts"), people = data.raters;
  host.replaceChildren();
  const add = (name, value, more) => {
    const part = element("div", "", host);
    element("dt", "", part, name);
    const entry = element("dd", "", part, value);
    if (more) { entry.append(" "); element("small", "", entry, more); }
  };
  add("trials answered", whole(data.complete), `of ${whole(data.wanted)}`);
  const begun = data.units - (data.histogram.find((bin) => bin.ratings === 0)?.units ?? 0);
  if (data.adaptive) add(`${data.of} judged`, whole(begun), `of ${whole(data.units)}`);
  else add(`${data.of} at quota`, whole(data.full), `of ${whole(data.units)}`);
  add("rating now", whole(people.active), `${whole(data.leased)} trials held`);
  add("raters", whole(people.all), `${whole(people.complete)} done, ${whole(people.excluded)} excluded${data.automated ? `; ${whole(data.automated)} fetches by robots` : ""}`);
  if (data.finish) add("full by", moment(data.finish), `at ${number(data.per_hour, data.per_hour < 10 ? 1 : 0)} an hour`);
};
const door = (settings) => {
  const pill = id("open");
  pill.textContent = settings.open ? `open${settings.cap ? `, at most ${whole(settings.cap)} raters` : ""}` : "closed";
  pill.classList.toggle("shut", !settings.open);
};

// At most one request of a kind under way; one more after it if something changed meanwhile.
const once = (work, pause) => {
  let busy = false, again = false;
  const run = async () => {
    if (busy) { again = true; return; }
    busy = true;
    again = false;
    try { await work(); } catch (problem) { complain(problem); }
    setTimeout(() => { busy = false; if (again) run(); }, pause);
  };
  return run;
};
const light = once(async () => {
  const [data, settings] = await Promise.all([get("coverage"), get("settings")]);
  answered = data.complete > 0;
  show.coverage(data);
  show.groups(data);
  facts(data);
  door(settings);
}, 700);
// Every panel of figures says of when they are, and since when newer ones are being computed.
const recent = (words) => {
  for (const note of document.querySelectorAll(".asof")) {
    note.textContent = note.title = words;
    note.closest("section").querySelector(".body").dataset.waiting = `No figures yet: ${words}.`;
  }
};
recent("computing");
const follow = async () => {
  try {
    const state = await get("figures"), parts = [];
    if (state.computed) parts.push(`as of ${clock(state.computed)}`);
    if (state.computing_since) parts.push(`computing since ${clock(state.computing_since)}`);
    recent(parts.join(", ") || "computing");
  } catch { /* the figures themselves report what is wrong */ }
};
const newFigures = async () => {
  const soon = setTimeout(follow, 100), watching = setInterval(follow, 1000);
  try {
    // One request waits for the figures: a browser has few connections, and the others are needed to say what is going on.
    const trust = await get("reliability"), wanted = encodeURIComponent(precision.value);
    return [trust, ...await Promise.all([`systems?precision=${wanted}`, "comparisons", "categories", "traces", "machine", "raters", "adjudication"].map(get))];
  } finally { clearTimeout(soon); clearInterval(watching); }
};
let latest = null;
const showSystems = () => {
  const { means, compared, categories } = latest;
  show.systems(means, categories, new Set(compared.questions.map((question) => question.question)), answered);
};
const heavy = once(async () => {
  let figures;
  try { figures = await newFigures(); } catch (problem) {
    recent("not computed; will be tried again");
    setTimeout(heavy, 1000 * Math.max(5, study.refresh_seconds));
    throw problem;
  }
  const [trust, means, compared, categories, courses, fields, people, decided] = figures;
  latest = { means, compared, categories };
  id("reliability").hidden = compared.questions.length > 0 && !trust.questions.length && !trust.fields.length;
  show.comparisons(compared);
  show.consistency(compared);
  show.reliability(trust);
  showSystems();
  show.traces(courses);
  show.machine(fields);
  show.adjudication(decided);
  show.raters(people);
  await Promise.all([show.stimuli(), follow()]);
  const oldest = Math.min(...[trust, means, compared, categories, courses, fields, people].map((part) => part.change));
  document.body.dataset.change = oldest;
  // The figures may be of a moment ago: ask once more for those of now.
  if (oldest < change) setTimeout(heavy, 1000 * study.refresh_seconds);
}, 1000 * Math.max(1, study.refresh_seconds));

precision.addEventListener("change", async () => {
  if (!precision.checkValidity()) { precision.reportValidity(); return; }
  try {
    const means = await get(`systems?precision=${encodeURIComponent(precision.value)}`);
    if (latest) { latest.means = means; showSystems(); }
  } catch (problem) { complain(problem); }
});
for (const form of document.querySelectorAll("form.controls")) form.addEventListener("submit", (event) => event.preventDefault());
id("recruit").addEventListener("click", () => recruit(light));
id("freeze").addEventListener("click", freeze);
id("tokens").addEventListener("click", tokens);
id("theme").addEventListener("click", () => {
  const dark = (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("heartfelt-theme", document.documentElement.dataset.theme); } catch { /* a browser may keep nothing */ }
});

const live = id("live");
const showConnection = (words, kind) => { live.textContent = words; live.className = `live ${kind}`; };
const events = new EventSource(`${base}/study/events`);
events.addEventListener("change", (event) => { change = Number(event.data); showConnection("live", "on"); light(); heavy(); });
events.addEventListener("away", () => showConnection("the store cannot be reached", "off"));
events.addEventListener("error", () => showConnection("reconnecting", "off"));
addEventListener("pagehide", () => events.close());
