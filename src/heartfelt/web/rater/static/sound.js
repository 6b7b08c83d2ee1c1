// Two soft notes for the volume, and the rounds of the headphone check, which the server makes.
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
const STEP = 1.5; // seconds from the beginning of one tone of a round to that of the next

function tone(at, seconds, hertz, level) {
  const oscillator = new OscillatorNode(context, { frequency: hertz });
  const envelope = new GainNode(context, { gain: 0 });
  envelope.gain.setValueAtTime(0, at);
  envelope.gain.linearRampToValueAtTime(level, at + RAMP);
  envelope.gain.setValueAtTime(level, at + seconds - RAMP);
  envelope.gain.linearRampToValueAtTime(0, at + seconds);
  oscillator.connect(envelope).connect(context.destination);
  oscillator.start(at);
  oscillator.stop(at + seconds);
  return new Promise((resolve) => oscillator.addEventListener("ended", resolve));
}

export function twoNotes() {
  const at = ready().currentTime + 0.05;
  tone(at, 0.6, 440, 0.25);
  return tone(at + 0.5, 0.9, 660, 0.25);
}

// Plays a round of the headphone check. ``heard(n)`` when the nth tone begins.
export async function playRound(sound, heard) {
  const clip = await ready().decodeAudioData(await (await sound).arrayBuffer());
  const source = new AudioBufferSourceNode(context, { buffer: clip });
  const begin = context.currentTime + 0.05;
  source.connect(context.destination);
  source.start(begin, 0, clip.duration);
  for (let place = 0; place < 3; place += 1) setTimeout(() => heard(place + 1), (begin + place * STEP - context.currentTime) * 1000);
  await new Promise((resolve) => source.addEventListener("ended", resolve));
}
