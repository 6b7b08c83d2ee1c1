// Sounds made in the browser: two soft notes for the volume, and the three tones of the headphone check.
let context = null;

// The one audio context of the page. It may be made at any time; it sounds after the first click, tap or key.
export function audioContext() {
  // Without this the ring switch of an iPhone silences everything that is not an audio element.
  if (navigator.audioSession) navigator.audioSession.type = "playback";
  context ??= new AudioContext();
  return context;
}

function ready() {
  audioContext().resume();
  return context;
}

const RAMP = 0.1;
export const TONE = { hertz: 200, seconds: 1, gap: 0.5, quieter: 10 ** (-6 / 20), level: 0.35 };

// One tone on two channels; in opposite phase the two cancel between loudspeakers but not between headphones.
function tone(at, seconds, hertz, level, opposite = false) {
  const oscillator = new OscillatorNode(context, { frequency: hertz });
  const envelope = new GainNode(context, { gain: 0 });
  const sides = new ChannelMergerNode(context, { numberOfInputs: 2 });
  const other = new GainNode(context, { gain: opposite ? -1 : 1 });
  envelope.gain.setValueAtTime(0, at);
  envelope.gain.linearRampToValueAtTime(level, at + RAMP);
  envelope.gain.setValueAtTime(level, at + seconds - RAMP);
  envelope.gain.linearRampToValueAtTime(0, at + seconds);
  oscillator.connect(envelope);
  envelope.connect(sides, 0, 0);
  envelope.connect(other).connect(sides, 0, 1);
  sides.connect(context.destination);
  oscillator.start(at);
  oscillator.stop(at + seconds);
  return new Promise((resolve) => oscillator.addEventListener("ended", resolve));
}

export function twoNotes() {
  const at = ready().currentTime + 0.05;
  tone(at, 0.6, 440, 0.25);
  return tone(at + 0.5, 0.9, 660, 0.25);
}

// Plays three tones in order: one plain, one in opposite phase, one quieter. ``heard(n)`` when the nth begins.
export async function threeTones(order, heard) {
  const begin = ready().currentTime + 0.1;
  const ends = order.map((kind, place) => {
    const at = begin + place * (TONE.seconds + TONE.gap);
    setTimeout(() => heard(place + 1), (at - context.currentTime) * 1000);
    return tone(at, TONE.seconds, TONE.hertz, TONE.level * (kind === "quiet" ? TONE.quieter : 1), kind === "opposite");
  });
  await Promise.all(ends);
}

export function shuffled(kinds) {
  const order = [...kinds];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = crypto.getRandomValues(new Uint32Array(1))[0] % (last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
