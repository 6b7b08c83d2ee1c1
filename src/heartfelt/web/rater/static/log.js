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
    this.start = performance.now();
    this.paused = 0;
    this.pausedAt = null;
    this.lost = false;
    this.watching = new AbortController();
    const { signal } = this.watching;
    const lose = () => {
      if (!this.lost) this.losses += 1;
      this.lost = true;
    };
    const regain = () => (this.lost = false);
    addEventListener("blur", lose, { signal });
    addEventListener("focus", regain, { signal });
    document.addEventListener("visibilitychange", () => (document.hidden ? lose() : regain()), { signal });
  }

  // Seconds since the trial was shown, less the time it was paused.
  get elapsed() {
    const now = this.pausedAt ?? performance.now();
    return this.before + (now - this.start - this.paused) / 1000;
  }

  pause() {
    this.pausedAt ??= performance.now();
  }

  goOn() {
    if (this.pausedAt === null) return;
    this.paused += performance.now() - this.pausedAt;
    this.pausedAt = null;
  }

  change(question, value) {
    const text = Array.isArray(value) ? value.join(";") : String(value ?? "");
    const last = this.changes.at(-1);
    // Typing is one change, not one a letter.
    if (last && last[1] === question && last[3] && this.elapsed - last[0] < 30) this.changes.pop();
    this.changes.push([round(this.elapsed), question, text]);
  }

  typed(question, value) {
    this.change(question, value);
    this.changes.at(-1)[3] = true;
  }

  heard(player) {
    const clip = player?.seconds ?? 0;
    return {
      seconds: round(Math.max(0, this.elapsed - clip)),
      first_play: player?.firstPlay ?? null,
      plays: player?.plays ?? 0,
      intervals: player?.intervals ?? [],
      away: round(player?.away ?? 0),
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
