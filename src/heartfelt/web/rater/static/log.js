// How a trial went: kept beside the answers, for whoever has to judge how much they are worth.
const device = () => {
  if (!matchMedia("(pointer: coarse)").matches) return "computer";
  return Math.min(screen.width, screen.height) < 600 ? "phone" : "tablet";
};

export class Log {
  constructor(past = {}) {
    this.began = past.began ?? Date.now() / 1000;
    this.before = past.elapsed ?? 0;
    this.changes = past.changes ?? [];
    this.losses = past.focus_losses ?? 0;
    this.away = past.away ?? 0;
    this.playing = false;
    this.awaySince = null;
    this.start = performance.now();
    this.paused = 0;
    this.pausedAt = null;
    // Seconds of listening that are no part of the time to answer: of clips that were heard to the end.
    this.listened = () => 0;
    this.listenedAtPause = 0;
    this.lost = false;
    // By question: the first answer, the time spent on it, and the keys and taps it took.
    this.fields = past.fields ?? {};
    this.current = [];
    this.since = this.elapsed;
    this.watching = new AbortController();
    const { signal } = this.watching;
    const lose = () => {
      if (!this.lost) this.losses += 1;
      this.lost = true;
    };
    const regain = () => (this.lost = false);
    addEventListener("blur", lose, { signal });
    addEventListener("focus", regain, { signal });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) lose();
      else regain();
      this.sound(this.playing);
    }, { signal });
  }

  // Whether a clip plays now: the time it does so with the page in the background is counted.
  sound(playing) {
    this.playing = playing;
    const now = performance.now();
    if (playing && document.hidden) this.awaySince ??= now;
    else if (this.awaySince !== null) {
      this.away += (now - this.awaySince) / 1000;
      this.awaySince = null;
    }
  }

  // Seconds since the trial was shown, less the time it was paused.
  get elapsed() {
    const now = this.pausedAt ?? performance.now();
    return this.before + (now - this.start - this.paused) / 1000;
  }

  pause() {
    if (this.pausedAt !== null) return;
    this.pausedAt = performance.now();
    this.listenedAtPause = this.listened();
  }

  // A moment in which the rater thought again was no pause.
  goOn(counts = false) {
    if (this.pausedAt === null) return;
    if (!counts) this.paused += performance.now() - this.pausedAt;
    this.pausedAt = null;
  }

  change(question, value, what = true) {
    const text = Array.isArray(value) ? value.join(";") : String(value ?? "");
    const last = this.changes.at(-1);
    // Typing is one change, not one a letter; so is moving a slider, each of them for itself.
    if (last && last[1] === question && last[3] === what && this.elapsed - last[0] < 30) this.changes.pop();
    this.changes.push([round(this.elapsed), question, text]);
  }

  typed(question, value, what = true) {
    this.change(question, value, what);
    this.changes.at(-1)[3] = what;
  }

  #of(question) {
    return (this.fields[question] ??= { seconds: 0, keystrokes: 0 });
  }

  // From now on these questions are being answered; the time until now was spent on those before, in equal parts.
  on(questions) {
    const now = this.elapsed;
    for (const question of this.current) this.#of(question).seconds += (now - this.since) / this.current.length;
    this.since = now;
    this.current = questions;
  }

  // What outlives a reload: the time until now is counted first, or that since the last question changed would be lost.
  draft() {
    this.on(this.current);
    return { began: this.began, elapsed: this.elapsed, changes: this.changes, focus_losses: this.losses, away: this.away, fields: this.fields };
  }

  // A key was pressed, or something tapped.
  stroke(question) {
    this.#of(question).keystrokes += 1;
    this.last = question;
  }

  // The last key or tap was about this question.
  credit(question) {
    if (this.last === undefined || this.last === question) return;
    this.#of(this.last).keystrokes -= 1;
    this.stroke(question);
  }

  // A question was answered; only the first answer is remembered, and none that is about a set.
  gave(question, value) {
    const plain = typeof value === "string" || typeof value === "number" || (Array.isArray(value) && value.every((part) => typeof part === "string"));
    if (plain) this.#of(question).first ??= value;
  }

  // What is sent of each question; `final` gives its last answer, which a first one must differ from.
  byField(final) {
    this.on([]);
    const same = (first, last) => JSON.stringify(first) === JSON.stringify(last);
    return Object.fromEntries(Object.entries(this.fields).map(([question, { first, seconds, keystrokes }]) => [question, {
      ...(first === undefined || same(first, final(question)) ? {} : { first }), seconds: round(seconds), keystrokes,
    }]));
  }

  // From when the stimulus was there until now, less the clips that were heard to the end by then.
  get seconds() {
    const listened = this.pausedAt === null ? this.listened() : this.listenedAtPause;
    return Math.max(0, this.elapsed - listened);
  }

  heard(player) {
    this.sound(false);
    return {
      seconds: round(this.seconds),
      first_play: player?.firstPlay ?? null,
      plays: player?.plays ?? 0,
      intervals: player?.intervals ?? [],
      played: player?.played ?? [],
      away: round(this.away),
      focus_losses: this.losses,
      changes: this.changes.map((change) => change.slice(0, 3)),
      device: device(),
      began: this.began,
    };
  }

  close() {
    this.watching.abort();
  }
}

export const round = (seconds) => Math.round(seconds * 1000) / 1000;
