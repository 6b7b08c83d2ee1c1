// Answers are written down here before they are sent, and struck out when the server has said that it has them.
// They survive a reload; the same key is the same answer, so sending one twice does no harm.
import { away, pause } from "./connection.js";
import { Away, Refused, ask } from "./server.js";

const lasting = () => {
  try {
    localStorage.setItem("heartfelt:test", "1");
    localStorage.removeItem("heartfelt:test");
    return localStorage;
  } catch {
    return null;
  }
};

export class Queue {
  constructor(who) {
    this.prefix = `heartfelt:${who}:answer:`;
    this.store = lasting();
    this.here = new Map();
    this.running = null;
    // An answer that can still be taken back is not sent yet.
    this.held = null;
    // Whether the last try found nobody there.
    this.stuck = false;
    for (const name of this.#names()) this.here.set(name, JSON.parse(this.store.getItem(name)));
  }

  get size() {
    return this.here.size;
  }

  put(answer, hold = false) {
    // In the order they were given, also those of one moment.
    this.count = ((this.count ?? 0) + 1) % 1000;
    this.moment = Math.max(Date.now(), (this.moment ?? 0) + (this.count === 0));
    const place = String(this.moment).padStart(15, "0") + String(this.count).padStart(3, "0");
    const name = `${this.prefix}${place}:${answer.key}`;
    this.here.set(name, answer);
    try {
      this.store?.setItem(name, JSON.stringify(answer));
    } catch {
      // A full store: the answer is still in memory and is sent from there.
    }
    this.held = hold ? name : null;
  }

  // The answer that was held may be sent now.
  release() {
    this.held = null;
  }

  // Takes back the answer that is held.
  takeBack() {
    this.#strike(this.held);
    this.held = null;
  }

  get #ready() {
    return [...this.here].filter(([name]) => name !== this.held).sort();
  }

  // Sends everything, oldest first. Ends with the last receipt, with what was refused on the way, and with whether a trial
  // had been answered in another tab.
  drain(whenAway = () => {}) {
    this.running ??= this.#run(whenAway).finally(() => (this.running = null));
    return this.running;
  }

  async #run(whenAway) {
    let receipt = null;
    let elsewhere = false;
    const refused = [];
    for (let tries = 0, ready = this.#ready; ready.length; ready = this.#ready) {
      const [[name, answer]] = ready;
      try {
        receipt = await ask("/rate/answer", { ...answer, go_on: ready.length === 1 }, { keepalive: true });
        elsewhere ||= receipt.status === "elsewhere";
        this.#strike(name);
        this.stuck = false;
        tries = 0;
      } catch (error) {
        if (error instanceof Refused) {
          refused.push(error);
          receipt = null;
          this.#strike(name);
        } else if (error instanceof Away) {
          this.stuck = true;
          away();
          whenAway();
          await pause(tries);
          tries += 1;
        } else throw error;
      }
    }
    return { receipt, refused, elsewhere };
  }

  #strike(name) {
    this.here.delete(name);
    this.store?.removeItem(name);
  }

  #names() {
    if (!this.store) return [];
    return Object.keys(this.store).filter((name) => name.startsWith(this.prefix));
  }
}
