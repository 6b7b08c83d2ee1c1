// Media fetched and decoded ahead, whole, so that the next trial starts at once and plays even when the line is down.
import { askUntilAnswered } from "./server.js";

const fetched = (id) => askUntilAnswered(`/media/${encodeURIComponent(id)}`, undefined, { cached: true, patience: 120_000 });

// What a trial presents: one medium, or those of a set in the order shown.
export const mediaOf = (step) => (step.members?.map((member) => member.media) ?? [step.media]).filter(Boolean);

function clip(blob) {
  const url = URL.createObjectURL(blob);
  return new Promise((resolve, reject) => {
    const audio = new Audio();
    audio.preload = "auto";
    audio.addEventListener("canplaythrough", () => resolve(audio), { once: true });
    audio.addEventListener("error", () => reject(new Error(audio.error?.message || "cannot be decoded")), { once: true });
    audio.src = url;
  });
}

async function picture(blob) {
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  await image.decode();
  return image;
}

export class Library {
  #loads = new Map();
  #ready = new Map();

  constructor(study) {
    // The clips of a set stay as they were sent until their trial decodes them: decoded, they would fill the memory.
    this.make = study.media === "image" ? picture : study.set_type ? (blob) => blob : clip;
  }

  // The clip or picture, once it can be shown.
  get(id) {
    if (!this.#loads.has(id)) {
      const held = fetched(id).then((blob) => this.make(blob));
      held.then((media) => this.#ready.set(id, media)).catch(() => this.#loads.delete(id));
      this.#loads.set(id, held);
    }
    return this.#loads.get(id);
  }

  // The picture, if it is decoded already.
  now(id) {
    return this.#ready.get(id);
  }

  // Whether a trial can be shown without asking the server.
  has(step) {
    return mediaOf(step).every((id) => this.#ready.has(id));
  }

  // Fetches what comes next and lets go of what is past.
  ahead(now, next) {
    const wanted = new Set([now, ...next].flatMap(mediaOf));
    for (const [id, held] of this.#loads) {
      if (!wanted.has(id)) {
        this.#loads.delete(id);
        this.#ready.delete(id);
        held.then((media) => media.src && URL.revokeObjectURL(media.src)).catch(() => {});
      }
    }
    for (const id of wanted) this.get(id).catch(() => {});
  }
}
