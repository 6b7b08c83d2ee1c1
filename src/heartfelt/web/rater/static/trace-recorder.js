// The course of a marker over a clip, from moves that carry their own time. Samples are read from the moves afterwards:
// they depend neither on how often the page is drawn nor on timers. Nothing in here touches the page.
const CLOSE = 1e-6; // seconds: times nearer than this are the same
const TINY = 1e-4; // positions are shares of an axis, from 0 to 1, in steps of this

export const limited = (share) => Math.min(1, Math.max(0, Math.round(share / TINY) * TINY));

export class Recorder {
  constructor() {
    this.clear();
  }

  clear() {
    this.moves = [];
    this.gaps = [];
    this.left = null;
  }

  // The marker is at `position`, one share for each axis, from `at` seconds of the clip on.
  move(at, position) {
    this.moves.push([Math.max(at, this.moves.at(-1)?.[0] ?? 0), position]);
  }

  // The page is in the background from `at` seconds of the clip on, or is back: nothing in between is known.
  leave(at) {
    this.left ??= at;
  }

  comeBack(at) {
    if (this.left !== null && at > this.left) this.gaps.push([this.left, at]);
    this.left = null;
  }

  // The clip was moved on or back: what was left out is not known, and what will be heard again is recorded again.
  jump(from, to) {
    if (to >= from) {
      this.gaps.push([from, to]);
      return;
    }
    const here = this.moves.at(-1)?.[1];
    this.moves = this.moves.filter(([at]) => at < to);
    this.gaps = this.gaps.filter(([begin]) => begin < to).map(([begin, end]) => [begin, Math.min(end, to)]);
    if (here) this.move(to, here);
  }

  // Where the marker was at 0, 1 / rate, 2 / rate … seconds: null before the first move and in gaps.
  samples(rate, seconds) {
    const out = [];
    let next = 0;
    let position = null;
    for (let place = 0; place / rate < seconds - CLOSE; place += 1) {
      const at = place / rate;
      for (; next < this.moves.length && this.moves[next][0] <= at + CLOSE; next += 1) position = this.moves[next][1];
      out.push(this.gaps.some(([from, to]) => from <= at && at < to) ? null : position);
    }
    return out;
  }
}

const STEP = 0.02; // of an axis: what one press of a key moves
const WAIT = 0.15; // seconds before a held key glides
const SLOW = 0.25; // axes per second at which it begins to glide …
const FAST = 1.25; // … and that it reaches
const RAMP = 1; // … after so many seconds
const GRAIN = 10; // milliseconds between two moves of a glide, whatever the frame rate

const way = (seconds) => {
  const gliding = Math.max(0, seconds - WAIT);
  const rising = Math.min(gliding, RAMP);
  return STEP + SLOW * gliding + (FAST - SLOW) * ((rising * rising) / (2 * RAMP) + gliding - rising);
};

// Keys that are held: where the marker is depends on when they were pressed, not on when somebody asks.
export class Glide {
  constructor() {
    this.stop();
  }

  stop() {
    this.held = [];
    this.reached = 0;
  }

  get gliding() {
    return this.held.some(Boolean);
  }

  // A key for an axis and a direction went down at `stamp` milliseconds; the moves up to then, and the first step.
  press(axis, direction, stamp, position) {
    const moves = this.advance(stamp, position);
    const from = moves.at(-1)?.[1] ?? position;
    this.held[axis] = { direction, since: stamp, from: from[axis] };
    this.reached = stamp;
    return [...moves, [stamp, this.#at(stamp, from)]];
  }

  // It went up.
  release(axis, direction, stamp, position) {
    if (this.held[axis]?.direction !== direction) return [];
    const moves = [...this.advance(stamp, position), [stamp, this.#at(stamp, position)]];
    this.held[axis] = null;
    return moves;
  }

  // The moves since the last time, up to `stamp`.
  advance(stamp, position) {
    const moves = [];
    if (!this.gliding) return moves;
    for (let next = (Math.floor(this.reached / GRAIN) + 1) * GRAIN; next <= stamp; next += GRAIN) {
      moves.push([next, this.#at(next, position)]);
      this.reached = next;
    }
    return moves;
  }

  #at(stamp, position) {
    return position.map((share, axis) => {
      const key = this.held[axis];
      return key ? limited(key.from + key.direction * way((stamp - key.since) / 1000)) : share;
    });
  }
}
