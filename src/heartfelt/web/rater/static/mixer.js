// Several clips played together, sample by sample in step, of which one is heard. Changing to another one is a matter of
// volumes, so it takes effect at once and loses no time. Works on any audio context, an offline one included.
export const RAMP = 0.005; // seconds to change from one clip to another: too short to notice, long enough not to click
const LEAD = 0.03; // seconds ahead at which clips are started, so that all of them start with the same sample
const TRIES = 20;

// The clip with silence after its end: clips of one length loop in step.
function padded(context, clip, frames) {
  if (clip.length === frames) return clip;
  const out = context.createBuffer(clip.numberOfChannels, frames, clip.sampleRate);
  for (let channel = 0; channel < clip.numberOfChannels; channel += 1) out.copyToChannel(clip.getChannelData(channel), channel);
  return out;
}

// One stretch of playing: from a place in the clip, in a region, once or in a loop.
class Run {
  constructor(mixer, offset, { from, to, loop }, at, soft) {
    const { context, buffers } = mixer;
    Object.assign(this, { context, offset, from, to, loop, at });
    // The volume of all: at the ends of a loop it falls and rises, so that the jump does not click.
    this.master = new GainNode(context, { gain: loop ? 0 : 1 });
    this.master.connect(mixer.output);
    this.gains = buffers.map(() => new GainNode(context, { gain: 0 }));
    this.levels = buffers.map(() => ({ from: 0, to: 0, at }));
    this.sources = buffers.map((buffer, place) => {
      const source = new AudioBufferSourceNode(context, { buffer, loop, loopStart: from, loopEnd: to });
      source.connect(this.gains[place]).connect(this.master);
      return source;
    });
    if (loop) this.sources.push(this.#envelope(mixer));
    this.ended = new Promise((resolve) => this.sources[0].addEventListener("ended", resolve));
    this.#fade(mixer.selected, at, soft ? RAMP : 0);
    for (const source of this.sources) {
      const start = source.loop && source.buffer.length < buffers[0].length ? offset - from : offset;
      if (loop) source.start(at, start);
      else source.start(at, start, to - offset);
    }
  }

  #envelope({ context, frame, frames }) {
    const { from, to } = this;
    const buffer = context.createBuffer(1, Math.max(1, frame(to) - frame(from)), context.sampleRate);
    const shape = buffer.getChannelData(0).fill(1);
    const ramp = Math.min(frame(RAMP), Math.floor(shape.length / 2));
    for (let place = 0; place < ramp; place += 1) {
      if (frame(from) > 0) shape[place] = place / ramp;
      if (frame(to) < frames) shape[shape.length - 1 - place] = place / ramp;
    }
    const source = new AudioBufferSourceNode(context, { buffer, loop: true });
    source.connect(this.master.gain);
    return source;
  }

  // Lets one clip be heard, none where there is none of that number, over a moment that begins at a time.
  #fade(selected, at, ramp) {
    this.gains.forEach(({ gain }, place) => {
      const level = this.levels[place];
      const share = level.ramp ? Math.min(1, Math.max(0, (at - level.at) / level.ramp)) : 1;
      const now = level.from + (level.to - level.from) * share;
      const to = place === selected ? 1 : 0;
      this.levels[place] = { from: now, to, at, ramp };
      gain.cancelScheduledValues(0);
      gain.setValueAtTime(ramp ? now : to, at);
      if (ramp) gain.linearRampToValueAtTime(to, at + ramp);
    });
  }

  select(place) {
    const now = this.context.currentTime;
    this.#fade(place, Math.max(now, this.at), now > this.at ? RAMP : 0);
  }

  // Ends at a time of the context, softly.
  stop(at = this.context.currentTime) {
    this.#fade(-1, at, RAMP);
    for (const source of this.sources) source.stop(at + RAMP);
  }

  // Where in the clip it is at a time of the context.
  position(time = this.context.currentTime) {
    const place = this.offset + Math.max(0, time - this.at);
    if (place < this.to) return place;
    return this.loop ? this.from + ((place - this.from) % (this.to - this.from)) : this.to;
  }

  // The parts of the clip that were played between two times, in order.
  parts(begin, end) {
    const parts = [];
    const length = this.to - this.from;
    let [start, stop] = [begin, end].map((time) => this.offset + Math.max(0, time - this.at));
    if (!this.loop) stop = Math.min(stop, this.to);
    else {
      const rounds = Math.max(0, Math.floor((start - this.from) / length));
      start -= rounds * length;
      stop -= rounds * length;
    }
    while (stop > start) {
      parts.push([start, Math.min(stop, this.to)]);
      stop -= length;
      start = this.from;
    }
    return parts;
  }
}

export class Mixer {
  constructor(context, clips, output = context.destination) {
    const frames = Math.max(...clips.map((clip) => clip.length));
    Object.assign(this, { context, output, frames, selected: 0, run: null });
    this.lengths = clips.map((clip) => clip.duration);
    this.buffers = clips.map((clip) => padded(context, clip, frames));
    this.seconds = frames / context.sampleRate;
    this.frame = (seconds) => Math.round(seconds * context.sampleRate);
  }

  // On a whole sample, so that nothing has to be interpolated.
  whole(seconds) {
    return this.frame(seconds) / this.context.sampleRate;
  }

  // Plays from a place in the region, all clips from the same sample of the context on. What plays already goes on until
  // then; without a place it goes on from where it will be.
  play(region, place = null) {
    const { context } = this;
    const before = this.run;
    const within = { from: this.whole(region.from), to: this.whole(region.to), loop: region.loop };
    for (let tries = 0; tries < TRIES; tries += 1) {
      const at = this.whole(context.currentTime + LEAD);
      const given = this.whole(place ?? before?.position(at) ?? within.from);
      const offset = given >= within.from && given < within.to ? given : within.from;
      this.run = new Run(this, offset, within, at, offset > 0);
      // A browser that was busy may have started some clips late: once more then.
      if (context.currentTime < at) break;
      this.run.stop();
    }
    before?.stop(this.run.at - RAMP);
    return this.run;
  }

  select(place) {
    this.selected = place;
    this.run?.select(place);
  }

  stop() {
    this.run?.stop();
    this.run = null;
  }
}
