// A page of a questionnaire before, between or after the trials: the same controls as in a trial, on a page that scrolls.
import { find } from "./dom.js";
import { Form } from "./form.js";
import { Screen } from "./screens.js";
import { wish } from "./wishes.js";

export class QuestionnaireScreen extends Screen {
  constructor(step, page) {
    super("screen-questionnaire");
    Object.assign(this, { step, page });
    this.stored = `heartfelt:page:${step.time}:${step.questions.join(" ")}`;
    const title = find("h1", this.node);
    title.textContent = title.dataset[step.time.split(":")[0]];
    const study = { ...page.study, grid: [], onePerPage: false };
    this.form = new Form(this.node, { ...step, machine: {} }, study, (...details) => this.#changed(...details));
    this.form.restore(this.#draft(), {});
    this.form.lay();
    this.node.addEventListener("focusin", (event) => {
      const field = this.form.of(event.target);
      if (field) this.form.activate(field);
    });
    find("form", this.node).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
  }

  show(stage) {
    super.show(stage);
    // Whether words have room is known once they are drawn, and changes with the width of the window.
    let width = 0;
    this.resizing = new ResizeObserver(() => {
      if (stage.clientWidth !== width) this.form.fit();
      width = stage.clientWidth;
    });
    this.resizing.observe(stage);
  }

  close() {
    this.resizing?.disconnect();
  }

  #changed(field) {
    this.form.clear(field);
    try {
      sessionStorage.setItem(this.stored, JSON.stringify(this.form.drafts));
    } catch {
      // Without room a reload begins the page anew.
    }
  }

  #draft() {
    try {
      return JSON.parse(sessionStorage.getItem(this.stored)) ?? {};
    } catch {
      return {};
    }
  }

  async #send() {
    const { step, form } = this;
    for (const field of form.here) field.take?.();
    const wrong = form.check();
    if (wrong) {
      form.focus(wrong);
      return;
    }
    const button = find("button.main", this.node);
    button.disabled = true;
    await this.page.send("/rate/questionnaire", { time: step.time, questions: step.questions, answers: form.values });
    if (this.page.step !== step) sessionStorage.removeItem(this.stored);
    button.disabled = false;
  }

  key(event) {
    const { target, key } = event;
    const field = this.form.of(target);
    if (key === "Enter" && target.matches?.("input[type=text]") && field?.take?.()) return true;
    if (!/^[0-9]$/.test(key) || !wish("keys") || target.matches?.("input[type=text], textarea, select")) return super.key(event);
    const active = this.form.active;
    if (!active?.key(key)) return false;
    this.form.focus(this.form.following(active) ?? active);
    return true;
  }
}
