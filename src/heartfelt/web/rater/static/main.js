// The rating page: shows the step the server is at, one after the other.
import { Batch, together } from "./batch.js";
import { notice, watch } from "./connection.js";
import { dialogOpen, openDialog } from "./dialogs.js";
import { find, part } from "./dom.js";
import { Library } from "./library.js";
import { QuestionnaireScreen } from "./questionnaire.js";
import { Queue } from "./queue.js";
import { BreakScreen, ConsentScreen, EndScreen, FactsScreen, HeadphoneScreen, InstructionScreen, WaitScreen } from "./screens.js";
import { Refused, askUntilAnswered, setBase } from "./server.js";
import { Trial } from "./trial.js";
import { setWish, wish } from "./wishes.js";
import { setWords, words } from "./words.js";

const SCREENS = {
  consent: ConsentScreen,
  demographics: FactsScreen,
  questionnaire: QuestionnaireScreen,
  headphones: HeadphoneScreen,
  instructions: InstructionScreen,
  trial: Trial,
  break: BreakScreen,
  end: EndScreen,
};

const TAKE_BACK = 4000; // milliseconds in which an answer with verdicts can be taken back

// Whether a screen waits for answers about stimuli.
const asks = (screen) => screen instanceof Trial || screen instanceof Batch;

class Page {
  constructor(data) {
    // Trials that are held for the rater after this one: with the line down they are shown from here.
    Object.assign(this, { study: data.study, step: data.step, played: false, following: [] });
    this.library = new Library(data.study);
    this.queue = new Queue(data.who);
    this.stage = find("#stage");
  }

  async begin() {
    if (this.queue.size) {
      this.#put(new WaitScreen(words("last_answers")));
      await this.drain();
    } else this.show(this.step);
  }

  // A trial was answered. The next one is shown at once if it is here; the server is told at the same time. An answer
  // that may be taken back is held for a moment, unless there is nothing to show meanwhile.
  async answered(answer, again = null) {
    const next = this.following[0];
    const here = next !== undefined && this.library.has(next);
    const step = this.step;
    this.queue.put(answer, here && again !== null);
    this.#forget();
    if (here && again) this.taken = { step, again, timer: setTimeout(() => this.release(), TAKE_BACK) };
    if (here || this.queue.stuck) this.#without();
    await this.drain();
  }

  // All trials of a page were answered.
  async answeredAll(answers) {
    this.#forget();
    for (const answer of answers) this.queue.put(answer);
    this.following = this.following.slice(answers.length - 1);
    const [next] = this.following;
    if ((next && this.library.has(next)) || this.queue.stuck) this.#without();
    await this.drain();
  }

  // The answer before this trial can no longer be taken back.
  #forget() {
    clearTimeout(this.taken?.timer);
    this.taken = null;
  }

  release() {
    if (!this.taken) return;
    this.#forget();
    this.queue.release();
    this.screen.settle?.();
    this.drain();
  }

  // Back to the trial before this one, with its answers as they were; false when it has been sent.
  takeBack() {
    if (!this.taken) return false;
    const { step, again } = this.taken;
    this.#forget();
    this.queue.takeBack();
    again();
    this.show({ ...step, following: [{ ...this.step, following: undefined }, ...this.following] });
    return true;
  }

  // Sends what is in the queue; the server says what comes next when all of it has arrived.
  drain() {
    this.draining ??= this.#drain().finally(() => (this.draining = null));
    return this.draining;
  }

  async #drain() {
    const { receipt, refused, elsewhere } = await this.queue.drain(() => {
      if (this.screen.sent || !asks(this.screen)) this.#without();
    });
    if (refused.some((refusal) => refusal.status === 401)) return this.#stranger();
    if (elsewhere) notice(words("answered_elsewhere"), "away", 12);
    for (const refusal of refused) notice(words("refused", { problem: refusal.problem }), "away", 12);
    // Without the answer that was refused the server may be elsewhere; what has been answered of this trial is stored.
    if (refused.length && asks(this.screen) && !this.screen.sent) {
      const { step } = await askUntilAnswered("/rate/step");
      if (step.trial !== this.screen.step.trial) this.show(step);
      return;
    }
    // Whoever went on without the server is in the middle of a trial: it stays, and what is said of it is taken over.
    if (asks(this.screen) && !this.screen.sent) {
      const { then } = receipt ?? {};
      const place = then?.kind === "trial" ? [then, ...then.following].findIndex((each) => each.trial === this.screen.step.trial) : -1;
      if (place >= 0) {
        this.following = then.following.slice(place);
        this.library.ahead(this.screen.step, this.following);
      } else if (then && (elsewhere || !this.screen.touched) && !this.queue.size) this.show(then);
      return;
    }
    if (receipt?.then) this.show(receipt.then);
    else await this.refresh();
  }

  // The next trial that was fetched ahead, or a word that nothing is lost.
  #without() {
    const next = this.following[0];
    if (next && this.library.has(next)) this.show({ ...next, following: this.following.slice(1) });
    else if (!(this.screen instanceof WaitScreen)) this.#put(new WaitScreen(words("kept")));
  }

  async refresh() {
    await this.#stepping(() => askUntilAnswered("/rate/step"), [401, 404]);
  }

  // Tells the server something that leads to the next step.
  async send(path, body) {
    await this.#stepping(() => askUntilAnswered(path, body), [401], [409]);
  }

  async #stepping(asking, unknown = [401], moved = []) {
    try {
      this.show((await asking()).step);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (unknown.includes(error.status)) return this.#stranger();
      // Answered in another tab: on to where the rater is by now, with a word on why.
      if (moved.includes(error.status)) await this.refresh();
      notice(`${error.problem} ${error.fix}`, "away", 12);
    }
  }

  #stranger() {
    this.show({ kind: "end", ending: "stranger" });
  }

  show(step) {
    if (step.kind === "end" && this.queue.size) {
      this.queue.release();
      this.#put(new WaitScreen(words("last_answers")));
      this.drain();
      return;
    }
    this.step = step;
    this.following = step.following ?? [];
    const run = step.kind === "trial" ? together(step, this.study) : [];
    this.#head(step, run.length);
    this.#put(run.length ? new Batch(run, this) : new SCREENS[step.kind](step, this));
  }

  #put(screen) {
    this.screen?.close();
    this.screen = screen;
    screen.show(this.stage);
    document.body.dataset.step = this.step.kind;
  }

  #head(step, together = 0) {
    const trial = step.kind === "trial";
    const practice = trial && step.sort === "practice";
    find("#tools").hidden = !trial;
    const chooser = find("#languages");
    if (chooser) chooser.hidden = trial;
    find("#progress").hidden = !trial;
    if (!trial) return;
    const bar = find("#bar");
    const number = together ? `${step.number}–${step.number + together - 1}` : step.number;
    const count = words("of", { number, of: step.of });
    find("#count").textContent = practice ? `${find("#head").dataset.practice}: ${count}` : count;
    bar.max = step.of || 1;
    bar.value = step.number - 1;
  }

  async pause() {
    const goOn = this.screen.pause?.();
    await openDialog("pause");
    goOn?.();
  }

  async flag() {
    const trial = this.screen.current ?? this.step.trial;
    const goOn = this.screen.pause?.();
    const given = await openDialog("flag", {}, (dialog) => {
      const send = find("button.main", dialog);
      send.disabled = true;
      dialog.querySelectorAll("input[name=reason]").forEach((input) => (input.onchange = () => (send.disabled = false)));
    });
    goOn?.();
    if (!given?.reason) return;
    const body = { trial, reason: given.reason, comment: given.comment.trim() || null, skip: given.skip };
    try {
      const { step } = await askUntilAnswered("/rate/flag", body);
      notice(words("flagged"));
      if (step.kind !== "trial" || given.skip) this.show(step);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      notice(error.problem, "away");
    }
  }

  async menu() {
    const wishes = { keys: wish("keys"), autoplay: wish("autoplay"), advance: wish("advance", this.study.advance === "on") };
    const given = await openDialog("menu", wishes, (dialog) => {
      part("advance", dialog).hidden = !this.screen.single;
      for (const input of dialog.querySelectorAll("input[type=checkbox]")) {
        input.onchange = () => {
          setWish(input.name, input.checked);
          document.body.classList.toggle("keyless", !wish("keys"));
        };
      }
    });
    if (given?.how === "leave" && (await openDialog("leave"))) await this.send("/rate/leave", {});
  }
}

function start() {
  const data = JSON.parse(find("#page-data").textContent);
  setBase(data.base);
  setWords(data.texts);
  const page = new Page(data);
  watch();
  document.body.classList.toggle("keyless", !wish("keys"));
  for (const button of document.querySelectorAll("#tools button")) {
    button.addEventListener("click", () => page[button.dataset.does]());
  }
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !event.shiftKey && !dialogOpen()) {
      const typing = event.target.matches?.("input[type=text], textarea");
      if (!typing && page.screen?.undo?.()) event.preventDefault();
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialogOpen()) return;
    if (page.screen?.key(event)) event.preventDefault();
  });
  // Coming back with the browser's own button shows a page from memory: ask where the rater is by now.
  addEventListener("pageshow", (event) => {
    if (event.persisted) page.refresh();
  });
  // Nothing is held back on a page that may not come back.
  document.addEventListener("visibilitychange", () => document.hidden && page.release());
  addEventListener("pagehide", () => page.release());
  addEventListener("unhandledrejection", () => notice(words("fault"), "away", 60));
  page.begin();
}

start();
