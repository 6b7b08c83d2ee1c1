// The dashboard: one screen, fed by the API; server-sent events report changes.
import { adjudication } from "./adjudication.js";
import { coverage } from "./coverage.js";
import { element, moment, number, whole } from "./draw.js";
import { freeze } from "./freeze.js";
import { machine } from "./machine.js";
import { base, complain, get } from "./net.js";
import { raters } from "./raters.js";
import { recruit } from "./recruit.js";
import { reliability } from "./reliability.js";
import { stimuli } from "./stimuli.js";
import { systems } from "./systems.js";
import { tokens } from "./tokens.js";

const body = (id) => document.querySelector(`#${id} .body`);
const id = (name) => document.getElementById(name);
const study = await get("study");
const precision = id("precision");
let change = 0;

const show = {
  coverage: coverage(body("coverage")),
  reliability: reliability(body("reliability")),
  systems: systems(body("systems"), id("question")),
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
  add(`${data.of} at quota`, whole(data.full), `of ${whole(data.units)}`);
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
  show.coverage(data);
  facts(data);
  door(settings);
}, 700);
const heavy = once(async () => {
  const [trust, means, people, fields, decided] = await Promise.all([get("reliability"), get(`systems?precision=${encodeURIComponent(precision.value)}`), get("raters"), get("machine"), get("adjudication")]);
  show.reliability(trust);
  show.systems(means);
  show.machine(fields);
  show.adjudication(decided);
  show.raters(people);
  await show.stimuli();
  document.body.dataset.change = trust.change;
  // The figures may be of a moment ago: ask once more for those of now.
  if (trust.change < change) setTimeout(heavy, 1000 * study.refresh_seconds);
}, 1000 * Math.max(1, study.refresh_seconds));

precision.addEventListener("change", async () => {
  if (!precision.checkValidity()) { precision.reportValidity(); return; }
  try { show.systems(await get(`systems?precision=${encodeURIComponent(precision.value)}`)); } catch (problem) { complain(problem); }
});
id("precision-form").addEventListener("submit", (event) => event.preventDefault());
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
