// Media fetched ahead, whole, so that the next trial starts at once and plays even when the line is down.
import { askUntilAnswered } from "./server.js";

export class Library {
  #kept = new Map();

  // The address of a file in memory, once it is there.
  get(id) {
    if (!this.#kept.has(id)) {
      const coming = askUntilAnswered(`/media/${encodeURIComponent(id)}`, undefined, { kept: true, patience: 120_000 });
      const held = coming.then((blob) => URL.createObjectURL(blob));
      held.catch(() => this.#kept.delete(id));
      this.#kept.set(id, held);
    }
    return this.#kept.get(id);
  }

  // Fetches what comes next and lets go of what is past.
  ahead(now, next) {
    const wanted = new Set([now, ...next.slice(0, 2)].filter(Boolean));
    for (const [id, held] of this.#kept) {
      if (!wanted.has(id)) {
        this.#kept.delete(id);
        held.then((url) => URL.revokeObjectURL(url)).catch(() => {});
      }
    }
    for (const id of wanted) this.get(id).catch(() => {});
  }
}
