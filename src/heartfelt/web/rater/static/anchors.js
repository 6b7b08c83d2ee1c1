// Words under the places of a scale. Each may be as wide as its neighbours leave room for, and wraps there: a word at an end
// begins at the end, one in between is centred under its place.
import { make } from "./dom.js";

// The shares of the row, from 0 to 1, that belong to each of some places in ascending order. Words at an end have all their
// room on one side of it: there the border is nearer to the neighbour than to the end.
export function spans(places, atStart = true, atEnd = true) {
  const last = places.length - 1;
  const borders = places.slice(1).map((place, index) => {
    const before = places[index];
    const [first, final] = [index === 0 && atStart, index + 1 === last && atEnd];
    if (first && final) return 0.5;
    if (first) return (2 * place) / 3;
    if (final) return 1 - (2 * (1 - before)) / 3;
    return (before + place) / 2;
  });
  return places.map((place, index) => {
    const [from, to] = [borders[index - 1] ?? 0, borders[index] ?? 1];
    if ((index === 0 && atStart) || (index === last && atEnd)) return [from, to];
    const half = Math.min(place - from, to - place);
    return [place - half, place + half];
  });
}

// A row of words: each with its place, as a share of the row, and the number that stands there.
export function anchorRow(anchors, atStart = true, atEnd = true) {
  const shares = spans(anchors.map(([place]) => place), atStart, atEnd);
  const row = make("div", { class: "anchors" });
  anchors.forEach(([, text, number], index) => {
    const [from, to] = shares[index];
    const end = index === 0 && atStart ? "first" : index === anchors.length - 1 && atEnd ? "last" : "mid";
    const label = make("span", { "data-place": end, "data-number": String(text) === String(number) ? null : `${number} – ` }, make("bdi", { text }));
    label.style.setProperty("--from", from.toFixed(4));
    label.style.setProperty("--room", (to - from).toFixed(4));
    row.append(label);
  });
  return row;
}

// Whether a word is longer than its room, and would have to be broken in two.
export function crowded(row) {
  if (!row.checkVisibility()) return false;
  row.classList.add("measured");
  const narrow = [...row.children].some((label) => label.scrollWidth > label.clientWidth + 1);
  row.classList.remove("measured");
  return narrow;
}

// Where words have no room next to one another, they are listed below the scale, each after its number.
export function list(row) {
  row.classList.remove("spelled");
  row.classList.toggle("spelled", crowded(row));
}
