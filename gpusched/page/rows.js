// The table of nodes. Only rows near the window are elements, so that thousands of nodes cost no more than forty.

import { element } from "./element.js";
import { cells, colourOf, gib, model, sharing } from "./model.js";

const LINE = 34;
const BEYOND = 600;
// Rows that turn out shorter than was thought make room for more.
const PASSES = 4;
const MOST_CELLS = 64;
const MOST_NAMES = 4;

const rows = document.getElementById("rows");
const made = new Map();
// Heights follow from the width and from what a row says, and so are measured, for the rows made at this width.
const measured = new Map();
let typical = LINE;
let width = 0;
let list = [];
let tops = [];
let active = "";
let open = () => {};

export function onOpen(handler) {
  open = handler;
}

// Of a row not made yet: that of others with as many pools.
function height(node) {
  return measured.get(node.name) ?? Math.max(1, node.pools.length) * typical;
}

export function showRows(nodes) {
  list = nodes;
  document.getElementById("table").setAttribute("aria-rowcount", String(nodes.length + 1));
  if (!nodes.some((node) => node.name === active)) active = nodes.length ? nodes[0].name : "";
  const known = new Set(nodes.map((node) => node.name));
  for (const name of measured.keys()) if (!known.has(name)) measured.delete(name);
  layOut();
  draw();
}

function layOut() {
  tops = [];
  let top = 0;
  for (const node of list) {
    tops.push(top);
    top += height(node);
  }
  rows.style.height = `${top}px`;
}

function first(position) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tops[middle] + height(list[middle]) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function draw() {
  if (rows.clientWidth !== width) {
    width = rows.clientWidth;
    measured.clear();
  }
  // What is above the window keeps its place when rows beyond it turn out taller than was thought.
  const top = -rows.getBoundingClientRect().top;
  const anchor = top > 0 ? first(top) : -1;
  const before = tops[anchor];
  for (let pass = 0; pass < PASSES; pass += 1) {
    make();
    if (!measure()) break;
    layOut();
  }
  for (const row of made.values()) row.element.style.top = `${tops[row.at]}px`;
  if (anchor >= 0 && anchor < tops.length && tops[anchor] !== before) scrollBy({ top: tops[anchor] - before, behavior: "instant" });
}

// Whether a row is not as tall as was thought.
function measure() {
  let changed = false;
  const fresh = measured.size === 0;
  let tall = 0;
  let pools = 0;
  for (const [name, row] of made) {
    const now = row.element.offsetHeight;
    tall += now;
    pools += Math.max(1, row.node.pools.length);
    if (measured.get(name) === now) continue;
    measured.set(name, now);
    changed = true;
  }
  if (fresh && pools) typical = tall / pools;
  return changed;
}

function make() {
  const above = -rows.getBoundingClientRect().top;
  const wanted = new Map();
  for (let at = first(above - BEYOND); at < list.length && tops[at] < above + innerHeight + BEYOND; at += 1) {
    wanted.set(list[at].name, at);
  }
  const focused = document.activeElement?.dataset?.node;
  const kept = list.findIndex((node) => node.name === focused);
  if (kept >= 0) wanted.set(focused, kept);
  for (const [name, row] of made) {
    if (!wanted.has(name)) {
      row.element.remove();
      made.delete(name);
    }
  }
  // In the order of the table, which is that of the elements too; those that stay are not moved, for the focus' sake.
  let here = rows.firstElementChild;
  for (const [name, at] of [...wanted].sort((a, b) => a[1] - b[1])) {
    const old = made.get(name)?.element;
    const row = place(name, at, focused);
    if (here === old || here === row) here = row.nextElementSibling;
    else rows.insertBefore(row, here);
  }
}

function place(name, at, focused) {
  const node = list[at];
  const mark = `${node.version} ${model.filter.namespace} ${at} ${name === active}`;
  const before = made.get(name);
  if (before && before.node === node && before.mark === mark) return before.element;
  const row = rowOf(node, at);
  before?.element.replaceWith(row);
  made.set(name, { element: row, node, mark, at });
  if (before && focused === name) row.querySelector("button").focus({ preventScroll: true });
  return row;
}

// A name may go on in the next line after each of its dots.
function breakable(name) {
  return name.split(/(?<=\.)/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));
}

function rowOf(node, at) {
  const button = element("button", { type: "button", class: "name", "data-node": node.name, tabindex: node.name === active ? "0" : "-1", onclick: () => open(node) }, ...breakable(node.name));
  const state = node.state === "ready" ? "" : element("span", { class: "badge warn" }, node.state.replace("-", " "));
  const row = element("div", { role: "row", class: node.shut ? "node shut" : "node", "aria-rowindex": String(at + 2) });
  row.style.setProperty("--pools", String(Math.max(1, node.pools.length)));
  const taints = node.taints.map((taint) => element("span", { class: "badge warn", title: "Only pods that tolerate it are placed here." }, `taint ${taint}`));
  row.append(
    element("span", { role: "cell", class: "who" }, button, state, ...taints),
    column("picture", node, picture),
    column("slots", node, (pool) => element("span", { class: pool.used > pool.slots ? "over" : null, title: pool.used > pool.slots ? "more held than offered" : null }, element("b", {}, String(pool.used)), ` / ${pool.slots}`)),
    column("claimed", node, claimed),
    column("holders", node, holders),
  );
  return row;
}

// Lines of one pool stand side by side, or below each other where there is no room; `order` keeps them together.
function column(name, node, cell) {
  const lines = node.pools.map((pool, at) => {
    const line = element("span", { class: "line" }, cell(pool));
    line.style.order = String(at);
    return line;
  });
  return element("span", { role: "cell", class: name }, ...lines);
}

function kind(pool) {
  const words = [pool.product || pool.resource, sharing(pool)].filter(Boolean);
  // The profile tells the pools of a node apart, so that it comes first where both are too long.
  return (pool.sharing === "mig" ? words.reverse() : words).join(" ");
}

export function picture(pool) {
  const label = `${kind(pool)}: ${pool.used} of ${pool.slots} slots held${pool.blocked ? `, ${pool.blocked}` : ""}`;
  const box = element("span", { class: "pool" }, element("span", { class: "kind", title: kind(pool) }, kind(pool), pool.blocked ? element("span", { class: "badge warn" }, pool.blocked) : ""));
  const drawn = element("span", { class: "devices", role: "img", "aria-label": label });
  const slots = cells(pool);
  const each = pool.devices && slots.length % pool.devices === 0 ? Math.max(1, slots.length / pool.devices) : 1;
  if (slots.length > MOST_CELLS) drawn.append(strip(pool));
  else for (let at = 0; at < slots.length; at += each) drawn.append(element("span", { class: "device" }, ...slots.slice(at, at + each).map((slot) => cell(slot, pool))));
  box.append(drawn);
  return box;
}

function cell(slot, pool) {
  if (slot === null) return element("i", { class: `cell ${pool.shut ? "shut" : "free"}` });
  const { holder, part } = slot;
  const dim = model.filter.namespace && holder.namespace !== model.filter.namespace ? " dim" : "";
  const ending = holder.ending ? " ending" : "";
  const made = element("i", { class: `cell ${colourOf(holder.namespace)}${part === null ? "" : " claim"}${dim}${ending}`, title: titleOf(holder) });
  if (part !== null) {
    const fill = element("b");
    fill.style.height = `${Math.min(100, Math.round(part * 100))}%`;
    made.append(fill);
  }
  return made;
}

function strip(pool) {
  const made = element("span", { class: "strip" });
  for (const holder of pool.holders) {
    const part = element("i", { class: colourOf(holder.namespace), title: titleOf(holder) });
    part.style.width = `${(100 * holder.slots) / Math.max(pool.slots, pool.used)}%`;
    made.append(part);
  }
  return made;
}

export function titleOf(holder) {
  const name = holder.name ? `${holder.namespace}/${holder.name}` : "a pod you may not list";
  const claim = holder.claim_mib ? `, claims ${gib(holder.claim_mib)} GiB a slot` : "";
  return `${name}: ${holder.slots} ${holder.slots === 1 ? "slot" : "slots"}${claim}${holder.ending ? ", ending" : ""}`;
}

function claimed(pool) {
  if (!pool.claimed_mib) return element("span", { class: "faint" }, "–");
  const whole = pool.devices && pool.device_memory_mib ? pool.devices * pool.device_memory_mib : null;
  return element("span", {}, gib(pool.claimed_mib), element("span", { class: "faint" }, ` / ${gib(whole)} GiB`));
}

function holders(pool) {
  const names = pool.holders.slice(0, MOST_NAMES).map((holder) =>
    element("span", { class: `chip ${colourOf(holder.namespace)}`, title: titleOf(holder) }, holder.name || "held", holder.slots > 1 ? ` ×${holder.slots}` : ""));
  const more = pool.holders.length - names.length;
  return element("span", { class: "chips" }, ...names, more > 0 ? element("span", { class: "faint" }, `+${more}`) : "");
}

// Focus goes to a node, which is brought into the window first.
export function goTo(name) {
  const at = list.findIndex((node) => node.name === name);
  if (at < 0) return;
  active = name;
  const top = rows.getBoundingClientRect().top + tops[at];
  const covered = 80;
  if (top < covered || top + height(list[at]) > innerHeight - 20) scrollBy({ top: top - innerHeight / 3, behavior: "instant" });
  draw();
  const row = made.get(name)?.element;
  row?.scrollIntoView({ block: "nearest", behavior: "instant" });
  row?.querySelector("button").focus({ preventScroll: true });
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };

rows.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  const at = list.findIndex((node) => node.name === event.target.dataset.node);
  if (step === undefined || at < 0) return;
  event.preventDefault();
  goTo(list[Math.max(0, Math.min(list.length - 1, at + step))].name);
});
rows.addEventListener("focusin", (event) => {
  if (event.target.dataset.node) active = event.target.dataset.node;
});

let asked = 0;
function later() {
  if (!asked) asked = requestAnimationFrame(() => { asked = 0; draw(); });
}
addEventListener("scroll", later, { passive: true });
addEventListener("resize", later);
