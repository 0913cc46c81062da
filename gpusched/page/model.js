// What is known of the cluster, what of it is shown, and which colour a namespace has.

export const COLOURS = 12;
const OTHERS = "c-more";

export const model = {
  instance: "",
  generation: -1,
  nodes: new Map(),
  totals: [],
  denied: "",
  beside: null,
  filter: { find: "", family: "", namespace: "", state: "" },
};

const colours = new Map();

export function takeNodes(answer) {
  if (answer.complete) model.nodes.clear();
  for (const node of answer.nodes) model.nodes.set(node.name, prepared(node));
  for (const name of answer.gone) model.nodes.delete(name);
  model.instance = answer.instance;
  model.generation = answer.generation;
  model.totals = answer.totals;
}

// Sums and a text to search in, made once per change of a node.
function prepared(node) {
  const closed = node.state !== "ready";
  const words = [node.name];
  node.slots = node.used = node.free = node.claimed = 0;
  node.held = new Map();
  for (const pool of node.pools) {
    pool.shut = closed || pool.blocked !== null;
    node.slots += pool.slots;
    node.used += pool.used;
    node.free += pool.shut ? 0 : Math.max(0, pool.slots - pool.used);
    node.claimed += pool.claimed_mib;
    words.push(pool.product || "", pool.family || "", pool.resource);
    for (const holder of pool.holders) {
      const name = holder.namespace || "";
      node.held.set(name, (node.held.get(name) || 0) + holder.slots);
      words.push(`${name}/${holder.name || ""}`);
    }
  }
  node.shut = closed || (node.pools.length > 0 && node.pools.every((pool) => pool.shut));
  node.words = words.join(" ").toLowerCase();
  return node;
}

// Namespaces by the slots they hold. A namespace keeps its colour for as long as the page is open.
export function namespaces() {
  const held = new Map();
  for (const node of model.nodes.values()) {
    for (const [name, slots] of node.held) if (name) held.set(name, (held.get(name) || 0) + slots);
  }
  const sorted = [...held].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  for (const [name] of sorted) {
    if (!colours.has(name)) colours.set(name, colours.size < COLOURS ? `c${colours.size}` : OTHERS);
  }
  return sorted;
}

export function colourOf(namespace) {
  return namespace ? colours.get(namespace) || OTHERS : "other";
}

const STATES = {
  free: (node) => node.free > 0,
  full: (node) => node.slots > 0 && node.used >= node.slots,
  idle: (node) => node.slots > 0 && node.used === 0,
  closed: (node) => node.shut,
};

function sought() {
  return model.filter.find.toLowerCase().split(/\s+/).filter(Boolean);
}

export function shown() {
  const { family, namespace, state } = model.filter;
  const words = sought();
  const found = [...model.nodes.values()].filter(
    (node) =>
      words.every((word) => node.words.includes(word)) &&
      (!family || node.pools.some((pool) => (pool.family || "unknown") === family)) &&
      (!namespace || node.held.has(namespace)) &&
      (!state || STATES[state](node)),
  );
  return found.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

export function narrows() {
  return Boolean(model.filter.namespace || model.filter.find);
}

// Of a list beside the nodes, what is in the chosen namespace and has all words that Find names.
export function matching(items) {
  const { namespace } = model.filter;
  const words = sought();
  return items.filter((item) => {
    const text = [`${item.namespace}/${item.name || ""}`, item.owner, item.kind, item.code, ...Object.keys(item.resources || {})].filter(Boolean).join(" ").toLowerCase();
    return (!namespace || item.namespace === namespace) && words.every((word) => text.includes(word));
  });
}

export function limited(quota) {
  return quota.namespaces.filter((item) => item.memory_limit_mib !== null || item.families.some((row) => row.limit !== null));
}

// Namespaces that something in the lists beside the nodes is of.
export function namespacesBeside() {
  if (!model.beside) return [];
  const { pods, lacking, refused, quota } = model.beside;
  return [...pods.pods, ...lacking.workloads, ...refused.refusals, ...limited(quota)].map((item) => item.namespace).filter(Boolean);
}

// How many are shown, and of how many where that is fewer.
export function part(some, all) {
  return some === all ? number(all) : `${number(some)} of ${number(all)}`;
}

// A family as its vendor writes it; one that no node has is named as in policies.
export function titleOfFamily(family) {
  return model.totals.find((total) => total.family === family)?.title || family;
}

export function gib(mib) {
  if (mib === null) return "?";
  const value = mib / 1024;
  return number(value >= 100 ? Math.round(value) : Math.round(value * 10) / 10);
}

export function number(value) {
  return value.toLocaleString("en");
}

export function sharing(pool) {
  if (pool.sharing === "mig") return pool.resource.includes("/mig-") ? pool.resource.split("/")[1] : "mig";
  if (!pool.sharing || pool.sharing === "none") return pool.sharing ? "" : "sharing unknown";
  return pool.replicas > 1 ? `${pool.sharing} ×${pool.replicas}` : pool.sharing;
}

// A pod that was bound round the scheduler may name any number of slots, and a page has no use for thousands.
const MOST_CELLS = 1024;

// One entry a slot, in the order of the holders: who holds it and which part of its memory is claimed.
export function cells(pool) {
  const found = [];
  for (const holder of pool.holders) {
    const part = holder.claim_mib && pool.slot_memory_mib ? holder.claim_mib / pool.slot_memory_mib : null;
    for (let slot = 0; slot < holder.slots && found.length < MOST_CELLS; slot += 1) found.push({ holder, part });
  }
  while (found.length < Math.min(pool.slots, MOST_CELLS)) found.push(null);
  return found;
}
