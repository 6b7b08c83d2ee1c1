// Records traces by the clip's own clock, in one pass from its beginning to its end. A pause holds the pass; playing the clip
// again begins it anew; while the page is in the background nothing is recorded.
const JUMP = 0.4; // seconds: a clip that is elsewhere by more than this was moved
const BEGIN = 0.05;

export class Tracing {
  constructor(form, player, listeners) {
    Object.assign(this, { form, player, listeners, course: null, last: 0 });
    for (const course of form.courses) {
      course.clock = (stamp) => {
        if (this.course === course) return this.#time(stamp);
        return this.course === null && !course.done ? 0 : null;
      };
    }
    player.traced = true;
    player.wanted = () => form.courses.some((course) => course.fields.some((field) => field.form.required && field.value === undefined));
  }

  // The clip is there.
  watch() {
    const { audio } = this.player;
    this.watching = new AbortController();
    const { signal } = this.watching;
    audio.addEventListener("timeupdate", () => this.#time(performance.now()), { signal });
    audio.addEventListener("seeking", () => this.#moved(), { signal });
    document.addEventListener("visibilitychange", () => this.#seen(), { signal });
    document.addEventListener("keyup", (event) => this.current?.keyUp(event), { signal });
    addEventListener("blur", () => this.current?.letGo(), { signal });
  }

  close() {
    this.watching?.abort();
    for (const course of this.form.courses) course.letGo();
  }

  // The course that keys move and that the next pass records: of the active question, else of the first open on this page.
  get current() {
    if (this.course) return this.course;
    const here = this.form.here.map((field) => field.course).filter(Boolean);
    return this.form.active?.course ?? here.find((course) => !course.done) ?? here[0] ?? null;
  }

  // Seconds of the clip at a time of the browser's clock, in milliseconds. A moment of a move is a little before now.
  #time(stamp) {
    const { audio, playing } = this.player;
    const past = playing ? (performance.now() - stamp) / 1000 : 0;
    this.last = audio.currentTime;
    return Math.max(0, audio.currentTime - Math.max(0, past));
  }

  began() {
    const { audio } = this.player;
    if (audio.currentTime < BEGIN) {
      this.course = this.current;
      // What was set before the first play is where the course begins; what was recorded is recorded anew.
      if (this.course?.done) this.course.clear();
      this.listeners.anew();
      this.last = 0;
    } else this.course?.reopen();
    this.course?.say("recording");
    this.#seen();
  }

  // The clip paused or ended. A rater who may stop whenever they like has answered with what there is.
  stopped(how) {
    const { course, player } = this;
    if (!course || how === "waiting") return;
    const ended = how === "ended" || player.audio.ended;
    const at = ended ? player.seconds || player.audio.currentTime : player.audio.currentTime;
    course.advance(performance.now());
    course.recorder.comeBack(at);
    course.letGo();
    if (ended || player.rule === "free") {
      course.finish(at);
      course.say(course.fields.some((field) => field.empty) ? "empty" : ended ? "done" : "paused");
      if (ended) this.course = null;
      this.listeners.finished(course);
    } else course.say("paused");
    if (ended) this.last = 0;
  }

  // Another page of questions: its trace has a pass of its own.
  turned() {
    if (!this.course || this.form.here.includes(this.course.fields[0])) return;
    this.course = null;
    this.last = 0;
    this.player.stop();
    this.player.audio.currentTime = 0;
  }

  #seen() {
    const { course, player } = this;
    if (!course || !player.playing) return;
    if (document.visibilityState === "hidden") {
      course.letGo();
      course.recorder.leave(player.audio.currentTime);
    } else course.recorder.comeBack(player.audio.currentTime);
  }

  #moved() {
    const to = this.player.audio.currentTime;
    if (to < BEGIN) this.course?.clear();
    else if (Math.abs(to - this.last) > JUMP) this.course?.recorder.jump(this.last, to);
    this.last = to;
  }
}
