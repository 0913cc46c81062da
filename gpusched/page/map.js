// Every GPU of the cluster on one canvas: a node is a block, a GPU a row of it, a slot a cell. For large clusters.

import { cells, colourOf, model } from "./model.js";

const FROM_NODES = 25;
// Sizes of a cell, and the height in which the largest that fits is chosen.
const CELLS = [6, 5, 4, 3, 2];
const TALLEST = 230;
const MOST_SLOTS = 64;

const box = document.getElementById("map");
const canvas = document.getElementById("canvas");
const tip = document.getElementById("map-tip");
let places = [];
let size = CELLS[0];
let gap = 3;
let choose = () => {};

export function onChoose(handler) {
  choose = handler;
}

export function showMap(nodes) {
  box.hidden = model.nodes.size < FROM_NODES;
  if (box.hidden) return;
  const width = box.clientWidth;
  for (size of CELLS) {
    gap = Math.max(1, size - 2);
    places = placed(nodes, width);
    const end = places.at(-1);
    if (!end || end.y + end.tall <= TALLEST) break;
  }
  const last = places.at(-1);
  const tall = last ? last.y + last.tall : 0;
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = tall * scale;
  canvas.style.height = `${tall}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const paint = paints();
  for (const place of places) drawNode(pen, place, paint);
}

// Blocks from left to right, as tall as the tallest of their row.
function placed(nodes, width) {
  const found = [];
  let x = 0;
  let y = 0;
  let row = [];
  const close = () => {
    const tall = Math.max(...row.map((place) => place.high), size) + gap;
    for (const place of row) place.tall = tall;
    y += tall;
    x = 0;
    row = [];
  };
  for (const node of nodes) {
    const columns = Math.max(1, Math.min(8, Math.ceil(Math.sqrt(Math.min(node.slots, MOST_SLOTS) * 2))));
    const wide = columns * size;
    if (x + wide > width && row.length) close();
    const place = { node, x, y, columns, wide, high: Math.max(1, Math.ceil(Math.min(node.slots, MOST_SLOTS) / columns)) * size, tall: 0 };
    row.push(place);
    found.push(place);
    x += wide + gap;
  }
  if (row.length) close();
  return found;
}

function drawNode(pen, place, paint) {
  const filter = model.filter.namespace;
  const inside = size > 3 ? size - 1 : size;
  let at = 0;
  for (const pool of place.node.pools) {
    for (const slot of cells(pool)) {
      if (at >= MOST_SLOTS) return;
      const x = place.x + (at % place.columns) * size;
      const y = place.y + Math.floor(at / place.columns) * size;
      pen.globalAlpha = slot && filter && slot.holder.namespace !== filter ? 0.2 : 1;
      pen.fillStyle = paint(slot === null ? (pool.shut ? "shut" : "free") : colourOf(slot.holder.namespace));
      pen.fillRect(x, y, inside, inside);
      at += 1;
    }
  }
  pen.globalAlpha = 1;
}

function paints() {
  const style = getComputedStyle(document.documentElement);
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name);
  };
}

function under(event) {
  const edge = canvas.getBoundingClientRect();
  const x = event.clientX - edge.left;
  const y = event.clientY - edge.top;
  return places.find((place) => x >= place.x && x < place.x + place.wide + gap && y >= place.y && y < place.y + place.tall);
}

canvas.addEventListener("mousemove", (event) => {
  const place = under(event);
  tip.hidden = !place;
  if (!place) return;
  const { node } = place;
  tip.textContent = `${node.name}: ${node.used} of ${node.slots} slots held`;
  tip.style.left = `${Math.min(place.x, box.clientWidth - tip.offsetWidth)}px`;
  tip.style.top = `${place.y + place.tall + 4}px`;
});
canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
canvas.addEventListener("click", (event) => {
  const place = under(event);
  if (place) choose(place.node.name);
});
