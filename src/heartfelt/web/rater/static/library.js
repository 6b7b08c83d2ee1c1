// Media fetched and decoded ahead, whole, so that the next trial starts at once and plays even when the line is down.
import { askUntilAnswered } from "./server.js";

async function fetched(id) {
  const blob = await askUntilAnswered(`/media/${encodeURIComponent(id)}`, undefined, { cached: true, patience: 120_000 });
  return URL.createObjectURL(blob);
}

function clip(url) {
  return new Promise((resolve, reject) => {
    const audio = new Audio();
    audio.preload = "auto";
    audio.addEventListener("canplaythrough", () => resolve(audio), { once: true });
    audio.addEventListener("error", () => reject(new Error(audio.error?.message || "cannot be decoded")), { once: true });
    audio.src = url;
  });
}

async function picture(url) {
  const image = new Image();
  image.src = url;
  await image.decode();
  return image;
}

export class Library {
  #loads = new Map();
  #ready = new Set();

  constructor(media) {
    this.make = media === "image" ? picture : clip;
  }

  // The clip or picture, once it can be shown.
  get(id) {
    if (!this.#loads.has(id)) {
      const held = fetched(id).then((url) => this.make(url));
      held.then(() => this.#ready.add(id)).catch(() => this.#loads.delete(id));
      this.#loads.set(id, held);
    }
    return this.#loads.get(id);
  }

  // Whether it can be shown without asking the server.
  has(id) {
    return !id || this.#ready.has(id);
  }

  // Fetches what comes next and lets go of what is past.
  ahead(now, next) {
    const wanted = new Set([now, ...next].filter(Boolean));
    for (const [id, held] of this.#loads) {
      if (!wanted.has(id)) {
        this.#loads.delete(id);
        this.#ready.delete(id);
        held.then((media) => URL.revokeObjectURL(media.src)).catch(() => {});
      }
    }
    for (const id of wanted) this.get(id).catch(() => {});
  }
}
