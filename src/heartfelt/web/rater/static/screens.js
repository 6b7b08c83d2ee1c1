// Everything that is not a trial: consent, facts, headphones, instructions, break, end.
import { copy, does, find, make, part, tell } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { askUntilAnswered } from "./server.js";
import { playRound, twoNotes } from "./sound.js";
import { words } from "./words.js";

function once(button, action) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await action();
    } finally {
      button.disabled = false;
    }
  });
}

export class Screen {
  constructor(id) {
    this.node = copy(id);
  }

  show(stage) {
    stage.replaceChildren(this.node);
    const title = find("h1", this.node);
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  }

  key(event) {
    if (event.key !== "Enter" || event.target.matches?.("button, a, input, select, textarea, summary")) return false;
    const main = find("button.main:not(:disabled)", this.node);
    main?.click();
    return Boolean(main);
  }

  close() {}
}

export class ConsentScreen extends Screen {
  constructor(step, page) {
    super("screen-consent");
    once(does("agree", this.node), () => {
      const ticked = this.#ticked();
      return ticked && page.send("/rate/consent", { agreed: true, ticked });
    });
    once(does("decline", this.node), () => page.send("/rate/consent", { agreed: false }));
  }

  // The boxes that are ticked; null, with the first one that is missing pointed out, if one has to be.
  #ticked() {
    const ticked = [];
    let missing = null;
    for (const box of this.node.querySelectorAll("[data-box]")) {
      const lacks = "required" in box.dataset && !box.checked;
      const note = find(".note", box.closest(".box"));
      note.hidden = !lacks;
      note.textContent = lacks ? find(".boxes", this.node).dataset.missing : "";
      box.toggleAttribute("aria-invalid", lacks);
      if (lacks) missing ??= box;
      if (box.checked) ticked.push(box.dataset.box);
    }
    missing?.focus();
    return missing ? null : ticked;
  }

  // Agreeing is done on purpose, not by pressing Enter on the page.
  key() {
    return false;
  }
}

const NUMBER = /^\s*[+-]?\d+([.,]\d+)?\s*$/;

export class FactsScreen extends Screen {
  constructor(step, page) {
    super("screen-demographics");
    const form = find("form", this.node);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const answers = this.#answers();
      if (!answers) return;
      find("button.main", form).disabled = true;
      await page.send("/rate/demographics", { answers });
      find("button.main", form).disabled = false;
    });
  }

  #answers() {
    const answers = {};
    let wrong = null;
    for (const fact of this.node.querySelectorAll(".fact")) {
      const input = find("input, select", fact);
      const given = input.value.trim();
      const { type } = fact.dataset;
      let problem = null;
      if (!given && "required" in fact.dataset) problem = find("form", this.node).dataset.missing;
      else if (given && type === "number" && !NUMBER.test(given)) problem = words("not_a_number");
      const note = find(".note", fact);
      note.hidden = problem === null;
      note.textContent = problem ?? "";
      input.toggleAttribute("aria-invalid", problem !== null);
      if (problem !== null) wrong ??= input;
      if (!given) continue;
      if (type === "number") answers[fact.dataset.fact] = Number(given.replace(",", "."));
      else if (type === "languages") answers[fact.dataset.fact] = given.split(/[,，、;]/).map((name) => name.trim()).filter(Boolean);
      else answers[fact.dataset.fact] = given;
    }
    wrong?.focus();
    return wrong ? null : answers;
  }
}

export class HeadphoneScreen extends Screen {
  constructor(step, page) {
    super("screen-headphones");
    Object.assign(this, { step, page, given: [] });
    const { node } = this;
    once(does("sound", node), async () => {
      await twoNotes();
      does("heard", node).disabled = false;
    });
    does("heard", node).addEventListener("click", () => this.#rounds());
    once(does("tones", node), () => this.#play());
    this.tones = [...node.querySelectorAll(".tone")];
    this.tones.forEach((button, place) => button.addEventListener("click", () => this.#answer(place + 1)));
  }

  #rounds() {
    part("sound", this.node).hidden = true;
    part("rounds", this.node).hidden = false;
    this.#round();
    does("tones", this.node).focus();
  }

  #round() {
    const place = part("round", this.node);
    const number = this.given.length + 1;
    place.textContent = place.dataset.text.replace("{number}", number).replace("{of}", this.step.trials);
    // Only the server knows the order of the tones.
    this.sound = askUntilAnswered(`/rate/tones/${number}`, undefined, { cached: true });
    this.heard = false;
    for (const button of this.tones) button.disabled = true;
    does("tones", this.node).hidden = false;
  }

  async #play() {
    await playRound(this.sound, (number) => {
      this.tones.forEach((button, place) => button.classList.toggle("sounding", place + 1 === number));
    });
    for (const button of this.tones) {
      button.classList.remove("sounding");
      button.disabled = false;
    }
    this.heard = true;
  }

  async #answer(number) {
    if (!this.heard) return;
    this.given.push(number);
    tell(words("of", { number: this.given.length, of: this.step.trials }));
    if (this.given.length < this.step.trials) {
      this.#round();
      does("tones", this.node).focus();
      return;
    }
    this.heard = false;
    for (const button of this.tones) button.disabled = true;
    does("tones", this.node).hidden = true;
    await this.page.send("/rate/headphones", { probe: this.step.probe, given: this.given });
  }

  key(event) {
    if (/^[123]$/.test(event.key) && this.heard) {
      this.tones[Number(event.key) - 1].click();
      return true;
    }
    return super.key(event);
  }
}

export class InstructionScreen extends Screen {
  constructor(step, page) {
    super("screen-instructions");
    if (step.text) part("text", this.node).textContent = step.text;
    const sound = does("sound", this.node);
    if (sound) once(sound, twoNotes);
    once(does("ready", this.node), () => page.send("/rate/ready", {}));
  }
}

export class BreakScreen extends Screen {
  constructor(step, page) {
    super("screen-break");
    part("done", this.node).textContent = words("done_so_far", step);
    once(does("ready", this.node), () => page.send("/rate/ready", {}));
  }
}

export class EndScreen extends Screen {
  constructor(step, page) {
    super(`end-${step.ending}`);
    if (step.text) part("text", this.node).textContent = step.text;
    if (step.ending === "later") this.#later(step);
    if (step.debriefing) this.#debrief(step, page);
    if (step.retry_seconds) setTimeout(() => location.reload(), 1000 * step.retry_seconds);
    if (step.code) {
      const place = part("code", this.node);
      place.hidden = false;
      find("output", place).textContent = step.code;
      does("copy", place).addEventListener("click", async () => {
        await navigator.clipboard?.writeText(step.code).catch(() => {});
        tell(words("copied"));
      });
    }
    if (step.url && /^https?:/i.test(step.url)) {
      const link = part("url", this.node);
      link.href = step.url;
      link.hidden = false;
    }
  }

  // When the next session opens, by the clock of this device, and the rater's own link to it.
  #later({ opens, closes, link }) {
    // The page's language, in the rater's own regional form where the browser names one; digits as everywhere on the page.
    const { lang } = document.documentElement;
    const region = navigator.languages.find((language) => language.startsWith(`${lang}-`)) ?? lang;
    const form = new Intl.DateTimeFormat(region, { dateStyle: "full", timeStyle: "short", numberingSystem: "latn" });
    const moment = (seconds) => form.format(1000 * seconds);
    const lines = [words("opens_at", { moment: moment(opens) })];
    if (closes) lines.push(words("closes_at", { moment: moment(closes) }));
    part("opens", this.node).textContent = lines.join("\n");
    const own = part("link", this.node);
    own.closest("p").hidden = !link;
    if (link) own.textContent = own.href = new URL(link, location.href).href;
  }

  #debrief({ withdraw }, page) {
    const text = copy("debriefing");
    part("code", this.node).before(text);
    if (!withdraw) return;
    part("withdraw", text).hidden = false;
    does("withdraw", text).addEventListener("click", async () => {
      if (await openDialog("withdraw")) await page.send("/rate/withdraw", {});
    });
  }
}

export class WaitScreen {
  constructor(text) {
    this.node = make("section", { class: "card screen wait" }, make("h1", { class: "prose", text }));
  }

  show(stage) {
    stage.replaceChildren(this.node);
  }

  key() {
    return false;
  }

  close() {}
}
