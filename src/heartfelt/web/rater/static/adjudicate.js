// The page of senior raters: one item after the other, with the answers that were given and a field for another.
import { notice, watch } from "./connection.js";
import { dialogOpen } from "./dialogs.js";
import { copy, does, find, freshKey, make, part, tell } from "./dom.js";
import { Form } from "./form.js";
import { Library } from "./library.js";
import { Player } from "./player.js";
import { Refused, askUntilAnswered, setBase } from "./server.js";
import { setWords, words } from "./words.js";
import { enlarge } from "./zoom.js";

const NONE = "(none)";

// An answer as raters read it.
function readable(answer, scale, form) {
  if (answer === NONE) return typeof form.none === "string" ? form.none : words("answer_none");
  if (scale.type === "tags") {
    const texts = new Map([...scale.tags, ...(scale.suggestions ?? [])]);
    return String(answer).split(scale.separator).map((tag) => texts.get(tag.trim()) ?? tag.trim()).join(", ");
  }
  const option = (scale.options ?? []).find(([value]) => String(value) === String(answer));
  const anchor = Array.isArray(scale.anchors) ? null : scale.anchors?.[answer];
  const text = option ? option[1] : `${answer}${scale.unit ? ` ${scale.unit}` : ""}`;
  return anchor ? `${text} (${anchor})` : text;
}

class Item {
  constructor(item, page) {
    Object.assign(this, { item, page });
    const { study } = page;
    this.form = { ...study.forms[item.form] };
    this.scale = study.scales[this.form.scale];
    this.root = copy("screen-item");
    this.own = part("own", this.root);
    this.comment = find("textarea", this.root);
    this.closing = new AbortController();
    // One question by itself, whatever the form it came in asks for around it.
    const alone = { ...study, grid: [], grids: [], onePerPage: true, forms: study.forms.map((form, number) => (number === item.form ? this.#plain(form) : form)) };
    this.entry = new Form(this.root, { questions: [item.id], forms: [item.form], machine: {}, values: {} }, alone, (field) => this.entry.clear(field));
    this.entry.lay(null);
    this.#fill();
    this.#listen();
  }

  #plain({ text, scale, help, none, emotion }) {
    return { text, scale, help, none, emotion, required: true };
  }

  #fill() {
    const { item, root } = this;
    part("asks", root).textContent = this.form.text;
    const reasons = item.rules.map((rule) => words(`why_${rule}`)).join("; ");
    part("why", root).textContent = reasons ? `${words("why")} ${reasons}` : "";
    this.options = item.options.map((option, place) => this.#option(option, place));
    part("given", root).append(...this.options);
    if (!this.options.length) part("given", root).append(make("p", { class: "soft", text: words("unanswered") }));
    if (item.rejected) this.#show("rejected", words("rejected", { count: item.rejected }));
    if (item.prompt) {
      part("prompt", root).hidden = false;
      find("blockquote", root).textContent = item.prompt;
    }
    if (item.decision) {
      const { option, words: decided, comment } = item.decision;
      this.#show("revising", `${words("yours", { answer: readable(decided, this.scale, this.form) })} ${words("revised")}`);
      if (option !== null) this.options[option].setAttribute("aria-pressed", "true");
      else this.entry.controls[0].set(decided);
      this.comment.value = comment ?? "";
      does("continue", root).hidden = false;
      does("skip", root).hidden = true;
    }
  }

  #show(name, text) {
    part(name, this.root).hidden = false;
    part(name, this.root).textContent = text;
  }

  #option(option, place) {
    const facts = [];
    if (option.machine) facts.push(words("draft"));
    if (option.raters) facts.push(words("raters", { count: option.raters }));
    if (option.accepted) facts.push(words("accepted", { count: option.accepted }));
    if (option.fixed) facts.push(words("fixed", { count: option.fixed }));
    return make("button", {
      type: "button", class: `given-option${option.machine ? " machine" : ""}`, "aria-pressed": "false", "data-option": place,
      onclick: () => this.#decide({ option: place }, option.words),
    }, place < 9 ? make("kbd", { "aria-hidden": "true", text: place + 1 }) : null,
    make("span", { class: "words", text: readable(option.words, this.scale, this.form) }),
    make("span", { class: "soft", text: facts.join("; ") }));
  }

  #listen() {
    const on = (name, act) => does(name, this.root).addEventListener("click", act);
    on("other", () => this.#open());
    on("skip", () => this.page.skip(this.item.id));
    on("back", () => this.page.back(this.item.decision?.seq));
    on("continue", () => this.page.next());
    this.own.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
  }

  async show(stage) {
    stage.replaceChildren(this.root);
    part("asks", this.root).focus();
    tell(this.form.text);
    if (this.item.media) await this.#media();
  }

  async #media() {
    let media;
    try {
      media = await this.page.library.get(this.item.media);
    } catch {
      notice(words("media_problem"), "away");
      return;
    }
    if (this.closing.signal.aborted) return;
    const box = part("player", this.root);
    if (box) {
      box.hidden = false;
      const quiet = () => {};
      this.player = new Player(this.root, "free", null, { began: quiet, stopped: quiet, broken: () => notice(words("media_problem"), "away") });
      this.player.load(media);
      return;
    }
    const button = does("enlarge", this.root);
    const image = part("image", this.root);
    image.src = media.src;
    image.alt = words("stimulus_image");
    button.hidden = false;
    button.addEventListener("click", () => enlarge([image]));
  }

  #open() {
    const opening = this.own.hidden;
    this.own.hidden = !opening;
    does("other", this.root).setAttribute("aria-expanded", String(opening));
    if (!opening) part("asks", this.root).focus();
    else this.entry.focus(this.entry.controls[0]);
  }

  #save() {
    const field = this.entry.controls[0];
    field.take?.();
    if (this.entry.check()) return;
    this.#decide({ value: field.value }, Array.isArray(field.value) ? field.value.join(this.scale.separator ?? ";") : field.value);
  }

  async #decide(what, answer) {
    const { id, sight, seen, decision } = this.item;
    const comment = this.comment.value.trim() || null;
    if (decision && what.option !== undefined && what.option === decision.option && comment === (decision.comment ?? null)) {
      this.page.next();
      return;
    }
    const done = await this.page.decide({ item: id, sight, seen, key: freshKey(), comment, ...what });
    if (done) tell(words("stored", { answer: readable(answer, this.scale, this.form) }));
  }

  // True when the key means something here.
  key(event) {
    const typing = event.target.closest("textarea, input[type=text]");
    if (event.key === "Escape" && !this.own.hidden) return this.#open(), true;
    if (event.key === "Escape" && typing) return part("asks", this.root).focus(), true;
    if (event.key === "Enter" && !this.own.hidden && !event.target.closest("button, textarea")) {
      const field = this.entry.controls[0];
      if (!field.take?.()) this.#save();
      return true;
    }
    if (typing) return false;
    if (!this.own.hidden && /^[0-9]$/.test(event.key)) return this.entry.controls[0].key(event.key);
    if (event.key === "0") return this.#open(), true;
    if (/^[1-9]$/.test(event.key)) {
      const option = this.options[Number(event.key) - 1];
      if (option) option.click();
      return Boolean(option);
    }
    if (event.key === " " && this.player && !event.target.closest("button")) return this.player.toggle(), true;
    const act = { s: "skip", backspace: "back" }[event.key.toLowerCase()];
    if (act && !does(act, this.root).hidden) return does(act, this.root).click(), true;
    if (event.key.toLowerCase() === "c") return this.comment.focus(), true;
    return false;
  }

  close() {
    this.closing.abort();
    this.player?.close();
  }
}

class Nothing {
  constructor(page) {
    this.root = copy("screen-nothing");
    if (page.skipped.length) {
      part("skipped", this.root).hidden = false;
      part("skipped", this.root).textContent = words("skipped", { count: page.skipped.length });
    }
    does("look", this.root).addEventListener("click", () => page.look());
    does("back", this.root).addEventListener("click", () => page.back());
  }

  show(stage) {
    stage.replaceChildren(this.root);
    find("h1", this.root).focus();
  }

  key(event) {
    if (event.key !== "Backspace") return false;
    does("back", this.root).click();
    return true;
  }

  close() {}
}

class Page {
  constructor(data) {
    Object.assign(this, { study: data.study, skipped: [], busy: false });
    this.library = new Library(data.study);
    this.stage = find("#stage");
  }

  next() {
    return this.#asking("/adjudicate/next", { skipped: this.skipped });
  }

  skip(id) {
    if (!this.busy) this.skipped.push(id);
    return this.next();
  }

  look() {
    this.skipped = [];
    return this.next();
  }

  decide(body) {
    return this.#asking("/adjudicate/decide", { ...body, skipped: this.skipped });
  }

  back(before) {
    return this.#asking("/adjudicate/back", before === undefined ? {} : { before });
  }

  // One thing at a time: what is done while an answer is under way would be about another item.
  async #asking(path, body) {
    if (this.busy) return false;
    this.busy = true;
    try {
      const reply = await askUntilAnswered(path, body);
      this.busy = false;
      if (!reply.item && path === "/adjudicate/back") notice(words("none_before"));
      else this.#show(reply);
      return true;
    } catch (error) {
      this.busy = false;
      this.#refused(error);
      return false;
    }
  }

  // Somebody else was faster, or answers came in since: what is there now is shown. A link that was revoked ends here.
  #refused(error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) location.reload();
    notice(`${error.problem} ${error.fix}`, "away", 12);
    if (error.status === 409) this.next();
  }

  #show(reply) {
    find("#counts").textContent = `${words("waiting", { count: reply.waiting })} · ${words("decided", { count: reply.decided })}`;
    this.screen?.close();
    this.screen = reply.item ? new Item(reply.item, this) : new Nothing(this);
    this.stage.scrollTo(0, 0);
    this.screen.show(this.stage);
  }
}

function start() {
  const data = JSON.parse(find("#page-data").textContent);
  setBase(data.base);
  setWords(data.texts);
  watch();
  const page = new Page(data);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialogOpen()) return;
    if (page.screen?.key(event)) event.preventDefault();
  });
  addEventListener("unhandledrejection", () => notice(words("fault"), "away", 60));
  page.next();
}

start();
