// Where a machine saw what it says, drawn on the picture of a trial while its drafts are verified.
const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

// The drawing fills the picture's place and keeps its proportions, as the picture does.
export function drawn(boxes, image) {
  const [width, height] = [image.naturalWidth || 1, image.naturalHeight || 1];
  const size = Math.max(width, height) / 28;
  const drawing = shape("svg", { class: "detections", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  for (const [tag, [left, top, right, bottom]] of boxes) {
    const [x, y] = [left * width, top * height];
    const text = shape("text", { x: x + size / 4, y: Math.max(y, 0) + size, "font-size": size });
    text.textContent = tag;
    drawing.append(shape("rect", { x, y, width: (right - left) * width, height: (bottom - top) * height }), text);
  }
  return drawing;
}
