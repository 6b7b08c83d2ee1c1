// One trial: the stimulus, the questions, the keys, and what is written down about it all.
import { drawn } from "./boxes.js";
import { copy, does, find, freshKey, make, part, tell } from "./dom.js";
import { Choices } from "./choices.js";
import { notice } from "./connection.js";
import { openDialog } from "./dialogs.js";
import { Form, answered, settled } from "./form.js";
import { mediaOf } from "./library.js";
import { Log, round } from "./log.js";
import { Members } from "./members.js";
import { Pan } from "./pan.js";
import { Pictures } from "./pictures.js";
import { Player } from "./player.js";
import { Refused, ask } from "./server.js";
import { SetPlayer } from "./setplayer.js";
import { Tracing } from "./trace-pass.js";
import { Verification } from "./verification.js";
import { Verify } from "./verify.js";
import { wish } from "./wishes.js";
import { words, wordsHere } from "./words.js";
import { enlarge } from "./zoom.js";

const MOMENT = 900; // milliseconds to take an answer back before the trial continues automatically
const drafts = (trial) => `heartfelt:draft:${trial}`;

export class Trial {
  constructor(step, page) {
    Object.assign(this, { step, page, study: page.study, comment: null, sent: false });
    this.node = copy("screen-trial");
    this.part = (name) => part(name, this.node);
    this.draft = this.#draft();
    this.audio = this.study.media !== "image";
    this.set = step.members ? this.#set() : null;
    this.form = new Form(this.node, step, this.study, (...details) => this.#changed(...details), this.set);
    this.verification = new Verification(this);
  }

  // The members of a set, and what plays or shows them.
  #set() {
    const { step, study } = this;
    const set = new Members(step, study);
    const root = this.part("set");
    root.hidden = false;
    this.node.classList.add("set", `set-${study.set_type}`);
    if (this.audio) this.player = new SetPlayer(root, set, study, this.#listeners(), this.draft.heard ?? {});
    set.view = this.player ?? new Pictures(root, set);
    if (!this.audio) set.view.moved = () => this.#lay();
    return set;
  }

  async show(stage) {
    const { step, study, node } = this;
    this.#texts();
    node.addEventListener("submit", (event) => {
      event.preventDefault();
      this.verification.acceptAll();
      this.goOn();
    });
    does("back", node).addEventListener("click", () => this.#turn(this.form.page - 1));
    does("undo", node).addEventListener("click", () => this.undo());
    const frame = does("enlarge", node);
    this.pan = this.audio || this.set ? null : new Pan(frame, () => enlarge([find("img", frame)]));
    does("comment", node).addEventListener("click", () => this.#comment());
    node.addEventListener("focusin", (event) => {
      const field = this.form.of(event.target);
      if (field) this.form.activate(field);
      this.#clock();
    });
    const media = mediaOf(step).length > 0;
    const audio = media && this.audio;
    if (audio && !this.set) this.#player();
    this.form.lock(true);
    if (this.draft.values) this.form.restore(this.draft.values, this.draft.verdicts);
    this.comment = this.draft.comment ?? null;
    does("comment", node).classList.toggle("has", Boolean(this.comment));
    this.log = new Log(this.draft.log);
    this.work = this.part("work");
    // A picture that is here already comes with the questions, in one step.
    const here = this.#ready();
    stage.replaceChildren(node);
    this.#lay();
    let size = `${stage.clientWidth} ${stage.clientHeight}`;
    this.resizing = new ResizeObserver(() => {
      const now = `${stage.clientWidth} ${stage.clientHeight}`;
      if (now !== size) this.#lay();
      size = now;
    });
    this.resizing.observe(stage);
    if (!here) {
      this.part("hint").textContent = media ? words("loading") : "";
      if (!(await this.#load(media))) return;
    }
    // Time counts from when the stimulus is there.
    this.log.close();
    this.log = new Log(this.draft.log);
    if (this.player) this.log.listened = () => this.player.listened;
    this.#beat();
    this.#unlock();
    this.#count();
    addEventListener("pagehide", () => this.#keep(), { signal: this.log.watching.signal });
    if (this.tracing) this.#trace();
    else if (audio && !this.player.unlocked) this.player.button.focus({ preventScroll: true });
    else if (this.form.active) this.form.focus(this.form.active);
    if (audio && !this.tracing && this.page.played && wish("autoplay") && !this.player.plays) this.player.play();
  }

  #texts() {
    const { step, study } = this;
    const forms = step.forms.map((number) => study.forms[number]);
    this.part("title").append(make("bdi", { text: document.title }), " ", make("bdi", { text: words("of", step) }));
    const fill = (name, text) => {
      const place = this.part(name);
      place.hidden = !text;
      (find("blockquote", place) ?? place).textContent = text ?? "";
    };
    fill("words", step.words);
    fill("prompt", forms.some((form) => form.prompt) ? this.set?.prompt(step.prompt) ?? step.prompt : null);
    fill("rubric", [...new Set(forms.map((form) => form.rubric).filter(Boolean))].join("\n"));
    // Where felt and perceived are both asked in one trial, each question says which; else one line says it for all.
    this.mixed = new Set(forms.map((form) => form.emotion).filter(Boolean)).size > 1;
    for (const field of this.mixed ? this.form.controls : []) {
      if (field.form.emotion) {
        find("legend", field.node).append(make("small", { class: "help", text: this.part("about").dataset[field.form.emotion] }));
      }
    }
    // The line is there when the questions are laid out.
    this.#about(this.form.controls);
  }

  #about(fields) {
    const kind = this.mixed ? null : fields.find((field) => field.form.emotion)?.form.emotion;
    const place = this.part("about");
    place.hidden = !kind;
    place.textContent = kind ? place.dataset[kind] : "";
  }

  #player() {
    const { study } = this;
    this.part("player").hidden = false;
    this.player = new Player(this.part("player"), study.listening, study.replays, this.#listeners(), this.draft.heard);
    this.player.restarts = study.restarts ?? false;
    const tracing = { anew: () => (this.log.away = 0), finished: (course) => this.#traced(course) };
    if (this.form.courses.length) this.tracing = new Tracing(this.form, this.player, tracing);
  }

  #listeners() {
    const heard = () => {
      this.#unlock();
      this.#keep();
    };
    return {
      began: () => {
        this.page.played = true;
        this.player.firstPlay ??= round(this.log.elapsed);
        this.tracing?.began();
        this.log.sound(true);
        heard();
      },
      heard,
      stopped: (how) => {
        this.log.sound(false);
        this.tracing?.stopped(how);
        heard();
      },
      broken: (error) => this.#broken(error),
    };
  }

  // A clip that is rated while it plays does not start by itself: the rater starts it, with a hand on the marker.
  #trace() {
    this.tracing.watch();
    const field = this.tracing.current?.fields[0] ?? this.form.active;
    if (field) this.form.focus(field);
  }

  #traced(course) {
    for (const field of course.fields) {
      const given = field.samples.filter((sample) => sample !== null).length;
      this.log.change(field.id, `${given} of ${field.samples.length} samples`);
      this.form.clear(field);
    }
    const [field] = course.fields;
    tell(field.empty ? words("trace_empty") : words("trace_done"));
    this.form.activate(this.form.following(course.fields.at(-1)) ?? field);
  }

  // Shows a picture that is decoded already.
  #ready() {
    const { step, page } = this;
    const picture = this.audio || this.set || !step.media ? null : page.library.now(step.media);
    if (!picture) return false;
    this.#picture(picture);
    // What comes next is fetched once this one is on the screen.
    requestAnimationFrame(() => setTimeout(() => this.closed || this.#ahead()));
    return true;
  }

  #ahead() {
    const { step, page } = this;
    page.library.ahead(step, page.taken ? [...page.following, page.taken.step] : page.following);
  }

  #picture(image) {
    image.alt = words("stimulus_image");
    const frame = does("enlarge", this.node);
    const boxes = this.step.boxes ? drawn(this.step.boxes, image) : null;
    frame.replaceChildren(image, ...(boxes ? [boxes] : []));
    frame.hidden = false;
    this.node.style.setProperty("--ratio", image.naturalWidth / image.naturalHeight || 1);
    this.pan.show(image, boxes);
  }

  // Brings the media in; false when it cannot be shown, and the trial is given back.
  async #load(any) {
    const { step, page } = this;
    if (!any) return true;
    try {
      const coming = Promise.all(mediaOf(step).map((id) => page.library.get(id)));
      this.#ahead();
      const [media, ...others] = await coming;
      if (this.closed) return false;
      if (this.set) {
        await this.set.view.load([media, ...others]);
        this.#lay();
      } else if (this.audio) this.player.load(media);
      else {
        this.#picture(media);
        this.#lay();
      }
    } catch (error) {
      return this.#broken(error);
    }
    return !this.closed;
  }

  async #broken(error) {
    if (this.closed) return false;
    notice(words("media_problem"));
    this.close();
    await this.page.send("/rate/media-problem", { trial: this.step.trial, problem: String(error.message || error).slice(0, 500) || "does not play" });
    return false;
  }

  lay() {
    this.#lay();
  }

  #lay() {
    if (this.closed) return;
    if (this.verification.opened) {
      this.verification.fit();
      return;
    }
    this.form.lay(() => this.work.scrollHeight <= this.work.clientHeight);
    for (const course of this.form.courses) course.surface.draw();
    this.#foot();
  }

  get locked() {
    return this.node.dataset.locked !== undefined;
  }

  // Opens the questions once the stimulus is there and has been heard as far as the study asks.
  #unlock() {
    if (this.locked && (this.player?.unlocked ?? true)) {
      this.form.lock(false);
      if (this.player && this.player.rule !== "free" && !this.tracing) tell(words("unlocked"));
    }
    this.#foot();
  }

  #tellLocked() {
    if (this.set && this.player?.mixer) tell(words(`set_${this.player.rule}`, { members: this.player.missing.join(", ") }));
    else tell(this.player && this.player.rule !== "free" ? words(`locked_${this.player.rule}`) : words("loading"));
  }

  #foot() {
    const { form, node } = this;
    const submit = does("submit", node);
    node.toggleAttribute("data-last", form.last);
    does("back", node).hidden = form.page === 0;
    does("undo", node).hidden = !(this.advancing || this.verification.past.length || this.page.taken);
    this.verification.foot(submit);
    this.#about(form.here);
    const ready = !this.locked && form.here.every((field) => settled(field) || (field instanceof Verify && !field.opened));
    submit.classList.toggle("waiting", !ready);
    const untouched = this.page.taken && !this.touched;
    this.part("hint").textContent = untouched ? words("sent_undo") : this.locked || !ready || !form.last || this.verification.pending.length ? "" : wordsHere("complete");
  }

  // Whether anything has been answered.
  get touched() {
    return this.log.changes.length > 0;
  }

  // The answer before this trial has gone out for good.
  settle() {
    this.#foot();
  }

  // Which questions are being worked on from now on; text and numbers count as answered when they are left.
  #clock() {
    if (!this.log || this.locked || this.closed) return;
    const before = this.log.current;
    const now = this.verification.current.map((field) => field.id);
    this.log.on(now);
    for (const field of this.form.controls) {
      if (before.includes(field.id) && !now.includes(field.id) && answered(field) && field.problem === null) this.#gave(field);
    }
  }

  #gave(field) {
    this.log.gave(field.id, field instanceof Verify ? field.given : field.value);
  }

  // Counts keys and taps, each with the question it was for.
  #count() {
    const { signal } = this.log.watching;
    const stroke = (target) => {
      const field = this.form.of(target) ?? this.verification.opened ?? this.form.active ?? this.form.here.at(-1);
      if (field && !this.closed) this.log.stroke(field.id);
    };
    addEventListener("keydown", (event) => {
      if (!event.repeat && !["Shift", "Control", "Alt", "Meta"].includes(event.key)) stroke(event.target);
    }, { signal, capture: true });
    addEventListener("pointerdown", (event) => {
      if (event.isPrimary && this.node.contains(event.target) && event.target.closest("button:not(.enlarge), label, input, textarea, .cells")) stroke(event.target);
    }, { signal, capture: true });
    this.#clock();
  }

  // The rater has moved to another field of the drafts.
  moved(field) {
    this.log.credit(field.id);
    this.#clock();
    this.#keep();
    this.#foot();
  }

  #changed(field, value, typed = false, quiet = false) {
    this.form.clear(field);
    this.#stay();
    if (typed) this.log.typed(field.id, value, typed);
    else this.log.change(field.id, value);
    if (!typed && answered(field)) this.#gave(field);
    this.#keep();
    this.#foot();
    if (field instanceof Verify) return;
    if (!typed && !quiet && (field.inputs || this.keyed)) {
      this.#moveOn(field);
      this.#advance(field);
    }
  }

  // Where one choice is all that is asked, the trial may go on by itself, after a moment to think again.
  get single() {
    const [field, ...others] = this.form.controls;
    return this.study.advance !== "off" && !others.length && field instanceof Choices;
  }

  #advance(field) {
    if (!this.single || !wish("advance", this.study.advance === "on") || !settled(field)) return;
    this.log.pause();
    this.advancing = setTimeout(() => this.goOn(), MOMENT);
    this.#foot();
    this.part("hint").textContent = words("advancing");
  }

  // Stops the trial from going on by itself.
  #stay() {
    if (!this.advancing) return false;
    clearTimeout(this.advancing);
    this.advancing = 0;
    this.log.goOn(true);
    this.#foot();
    return true;
  }

  // Takes the last step back: going on, a verdict, or the trial before this one. False when there is none.
  undo() {
    return this.#stay() || this.verification.undo() || this.page.takeBack();
  }

  // After a choice the next open question becomes the active one. Focus goes to its fieldset, not to a radio button,
  // where the space bar would answer instead of play.
  #moveOn(field) {
    const next = this.form.following(field);
    if (this.keyed) this.form.focus(next ?? field);
    else this.form.activate(next ?? field);
    this.#clock();
  }

  turn(page) {
    this.#turn(page);
  }

  #turn(page) {
    if (page < 0 || page >= this.form.pages.length) return;
    this.form.turn(page);
    this.tracing?.turned();
    this.work.scrollTop = 0;
    this.#foot();
    if (this.form.active) this.form.focus(this.form.active);
    this.#clock();
  }

  goOn() {
    if (this.sent || this.closed) return undefined;
    if (this.locked) {
      this.#tellLocked();
      this.player?.button.focus();
      return undefined;
    }
    if (this.verification.opened) this.verification.close(this.verification.opened);
    if (this.verification.pending.length) return this.verification.remind();
    for (const field of this.form.here) if (!field.editor) field.take?.();
    // Where a rater may stop whenever they like, going on stops the clip, and its trace is what there is.
    if (this.tracing?.course && this.player.rule === "free" && this.form.last) this.player.stop();
    const wrong = this.form.check();
    if (wrong) this.form.focus(wrong);
    else if (!this.form.last) this.#turn(this.form.page + 1);
    else this.#submit();
    return undefined;
  }

  async #submit() {
    const { step, form, log, player, page } = this;
    player?.stop();
    this.#clock();
    this.#keep();
    const again = sessionStorage.getItem(drafts(step.trial));
    this.sent = true;
    does("undo", this.node).hidden = true;
    const last = new Map(form.controls.map((field) => [field.id, field instanceof Verify ? field.given : field.value]));
    const heard = { ...log.heard(player), fields: log.byField((question) => last.get(question)) };
    const answer = {
      trial: step.trial, key: freshKey(), values: form.values, verdicts: form.verdicts, comment: this.comment, heard,
    };
    sessionStorage.removeItem(drafts(step.trial));
    this.close();
    form.lock(true);
    this.part("hint").textContent = words("saving");
    // Drafts may be accepted by one key: the trial can be taken back for a moment.
    const verified = form.controls.some((field) => field instanceof Verify) && again !== null;
    await page.answered(answer, verified ? () => sessionStorage.setItem(drafts(step.trial), again) : null);
  }

  // The keys. Returns true when the key was meant for the trial.
  key(event) {
    const { target, key } = event;
    const typing = target.matches?.("input[type=text], textarea, select");
    if (this.verification.key(event, typing)) return true;
    if (key === "Enter") {
      if (event.isComposing || target.matches?.("button, a, summary, select") || (target.matches?.("textarea") && event.shiftKey)) return false;
      const field = this.form.of(target);
      if (typing && (field?.editor ?? field)?.take?.()) return true;
      const next = typing && field && field.problem === null && settled(field) ? this.form.following(field) : null;
      if (next && !this.locked) this.form.focus(next);
      else this.goOn();
      return true;
    }
    if (typing || !wish("keys")) return false;
    if (this.pan?.key(event)) return true;
    if (this.page.taken && !this.touched && (key === "u" || key === "U")) return this.undo();
    if (key === " ") {
      const own = this.set ? "" : "input[type=range], ";
      if (!this.player || target.matches?.(`${own}button, a, summary, input[type=checkbox], input[type=radio]:not(:checked)`)) return false;
      if (this.set && event.shiftKey) this.player.restart();
      else this.player.toggle();
      return true;
    }
    const member = this.set && !event.repeat ? this.set.keyed(event) : -1;
    if (member >= 0) {
      this.set.view.choose(member);
      this.form.active?.chosen?.(member);
      return true;
    }
    if (key === "Backspace") {
      if (!this.#stay()) this.#back();
      return true;
    }
    if (/^[0-9]$/.test(key)) return this.#digit(key);
    // Without the focus on a marker the arrow keys still move it.
    return !target.matches?.("input") && (this.tracing?.current?.key(event) ?? false);
  }

  #digit(key) {
    const field = this.form.active;
    if (this.locked && !field?.live) {
      this.#tellLocked();
      return true;
    }
    if (!field) return false;
    this.keyed = true;
    const used = field.key(key);
    this.keyed = false;
    // The focus follows: left on the play button, it would take Enter and the space bar.
    const { node } = this.form.active ?? field;
    if (used && this.set && !node.contains(document.activeElement)) node.focus({ preventScroll: true });
    if (!used && field.entry && document.activeElement !== field.entry) {
      // The digit goes on into the field that is now in focus.
      field.entry.focus({ preventScroll: true });
      return false;
    }
    return used;
  }

  #back() {
    const here = this.form.here;
    const place = here.indexOf(this.form.active);
    if (place > 0) this.form.focus(here[place - 1]);
    else if (this.form.page > 0) {
      this.#turn(this.form.page - 1);
      this.form.focus(this.form.here.at(-1));
    }
  }

  async #comment() {
    this.#stay();
    const given = await openDialog("comment", { comment: this.comment ?? "" });
    if (given) {
      this.comment = given.comment.trim() || null;
      does("comment", this.node).classList.toggle("has", Boolean(this.comment));
      this.#keep();
    }
  }

  pause() {
    this.#stay();
    const playing = this.player?.playing;
    this.player?.stop();
    this.log.pause();
    return () => {
      this.log.goOn();
      if (playing) this.player.play();
    };
  }

  #beat() {
    const every = Math.max(15, Math.min(60, this.step.lease_seconds / 3)) * 1000;
    this.beating = setInterval(() => {
      ask("/rate/beat", { trial: this.step.trial }).catch((error) => {
        if (error instanceof Refused) clearInterval(this.beating);
      });
    }, every);
  }

  // What has been answered so far outlives a reload of this tab; it belongs to this trial and to no other.
  #keep() {
    if (this.sent || this.closed) return;
    const { log, player, form } = this;
    const heard = player && { plays: player.plays, intervals: player.stretches, played: player.played, first_play: player.firstPlay };
    try {
      sessionStorage.setItem(drafts(this.step.trial), JSON.stringify({ values: form.drafts, verdicts: form.verdicts, comment: this.comment, log: log.draft(), heard }));
    } catch {
      // Without room for a draft a reload begins the trial anew.
    }
  }

  #draft() {
    try {
      return JSON.parse(sessionStorage.getItem(drafts(this.step.trial))) ?? {};
    } catch {
      return {};
    }
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.beating);
    clearTimeout(this.advancing);
    this.resizing?.disconnect();
    this.tracing?.close();
    (this.set?.view ?? this.player)?.close();
    this.log?.close();
  }
}
