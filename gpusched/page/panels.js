// Families, legend, waiting pods and workloads that lack some, refusals, quotas, and one node in full.

import { age, bar, element, replace } from "./element.js";
import { colourOf, gib, limited, matching, model, narrows, number, part, sharing, titleOfFamily } from "./model.js";
import { picture, titleOf } from "./rows.js";

const LEGEND = 14;
const by = (id) => document.getElementById(id);

export function showFamilies(choose) {
  replace(by("families"), model.totals.map((total) => {
    const pressed = model.filter.family === total.family;
    const text = `${number(total.used)} of ${number(total.slots)} slots held`;
    const closed = total.closed ? ` · ${number(total.closed)} closed` : "";
    const memory = total.claimed_mib ? ` · ${gib(total.claimed_mib)} of ${gib(total.memory_mib)} GiB claimed` : total.memory_mib ? ` · ${gib(total.memory_mib)} GiB` : "";
    return element("li", {},
      element("button", { type: "button", class: "family", "aria-pressed": String(pressed), onclick: () => choose(pressed ? "" : total.family) },
        element("span", { class: "title" }, total.title),
        element("span", { class: "free-count" }, element("b", {}, number(total.free)), " free"),
        bar([["used", total.used], ["closed", total.closed]], total.slots, `${text}${closed}`),
        element("span", { class: "small" }, text, closed),
        element("span", { class: "small" }, `${number(total.nodes)} ${total.nodes === 1 ? "node" : "nodes"}`, memory)));
  }));
}

export function showLegend(names, choose) {
  const all = names.slice(0, LEGEND).map(([name, slots]) => {
    const pressed = model.filter.namespace === name;
    return element("li", {}, element("button", { type: "button", class: "legend-item", "aria-pressed": String(pressed), onclick: () => choose(pressed ? "" : name) },
      element("i", { class: `cell ${colourOf(name)}`, "aria-hidden": "true" }), name, element("span", { class: "faint" }, number(slots))));
  });
  if (names.length > LEGEND) all.push(element("li", { class: "faint" }, `and ${names.length - LEGEND} more`));
  replace(by("legend"), all);
}

function demandOf(pod) {
  const parts = Object.entries(pod.resources).map(([name, count]) => `${count} ${name}`);
  if (pod.claim_mib) parts.push(`${gib(pod.claim_mib)} GiB a slot`);
  return parts.join(", ");
}

// Pods of one owner that wait for the same reason are one card.
function grouped(pods) {
  const groups = new Map();
  for (const pod of pods) {
    const why = pod.why;
    const key = [pod.namespace, pod.owner || pod.name, pod.state, why && why.suggestion, why && why.line && pod.name].join("|");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(pod);
  }
  return [...groups.values()];
}

const NO_NAMESPACE = "You may list pods in no namespace that uses GPUs.";
const STATE = { pending: "pending", quota: "waits for quota", gated: "gated" };

export function showWaiting(answer, workloads) {
  const opened = new Set([...by("waiting-list").querySelectorAll("details[open]")].map((item) => item.dataset.key));
  const total = answer.total + workloads.length;
  const [pods, lacking] = [matching(answer.pods), matching(workloads)];
  const amount = part(narrows() ? pods.length + lacking.length : total, total);
  by("waiting-count").textContent = total ? count(answer, amount) : "";
  tally("waiting", amount, answer);
  const cards = [...lacking.map((workload) => lackingCard(workload, opened)), ...grouped(pods).map((group) => waitingCard(group, opened))];
  if (total && !cards.length) cards.push(unmatched("waiting pod or workload"));
  const beyond = answer.total - answer.pods.length;
  if (beyond > 0) cards.push(element("li", { class: "faint" }, `and ${number(beyond)} more${narrows() ? ", not searched" : ""}`));
  replace(by("waiting-list"), cards.length ? cards : [nothing(answer, "No GPU pod waits", `${NO_NAMESPACE} It takes the verb list on pods there, such as a RoleBinding to the ClusterRole gpusched-viewer gives.`)]);
}

// What is said of an empty list, and beside a title: of how many namespaces depends on what the user may read.
function nothing(answer, text, denied = NO_NAMESPACE) {
  const told = { all: `${text}.`, some: `${text} in the namespaces you may see.`, none: denied };
  return element("li", { class: "faint" }, told[answer.seen]);
}

function unmatched(noun) {
  return element("li", { class: "faint" }, `No ${noun} matches. Clear the filters to see all.`);
}

// How many waiting pods and workloads match, for one who finds no node.
export function matchingBeside() {
  if (!model.beside || !narrows()) return "";
  const pods = matching(model.beside.pods.pods).length;
  const workloads = matching(model.beside.lacking.workloads).length;
  const told = [pods && plural(pods, "waiting pod"), workloads && plural(workloads, "waiting workload")].filter(Boolean).join(" and ");
  return told && `${told} ${pods + workloads === 1 ? "does" : "do"}`;
}

// The count on the button that leads to a list: there may be no room to see the list itself.
function tally(panel, amount, answer) {
  by(`${panel}-jump`).textContent = answer.seen === "none" ? "–" : amount;
}

function count(answer, text) {
  return answer.seen === "some" ? [text, "of the namespaces you may see"].filter(Boolean).join(", ") : text;
}

function waitingCard(pods, opened) {
  const [pod] = pods;
  const name = pods.length > 1 ? `${pod.owner || pod.name} ×${pods.length}` : pod.name;
  const since = pod.created ? age((Date.now() - Date.parse(pod.created)) / 1000) : "";
  const why = pod.why;
  return element("li", { class: "card", "data-pod": `${pod.namespace}/${pod.name}` },
    cardHead(pod.namespace, name, pod.state === "pending" ? "bad" : "warn", STATE[pod.state], since),
    element("p", { class: "small" }, demandOf(pod), !pods[1] && pod.owner ? ` · ${pod.owner}` : ""),
    pod.gates.length ? element("p", { class: "small" }, `waits until ${pod.gates.length > 1 ? "gates" : "gate"} ${pod.gates.join(", ")} ${pod.gates.length > 1 ? "are" : "is"} removed`) : "",
    ...(why ? explanation(why, opened) : [element("p", { class: "faint small" }, "Being worked out.")]));
}

function lackingCard(workload, opened) {
  return element("li", { class: "card", "data-workload": `${workload.namespace}/${workload.owner}` },
    cardHead(workload.namespace, workload.owner, "bad", "lacks pods", ""),
    element("p", { class: "small" }, workload.lacks),
    ...explanation(workload, opened));
}

function cardHead(namespace, name, mood, state, since) {
  return element("p", { class: "card-head" },
    element("b", {}, element("i", { class: `cell ${colourOf(namespace)}`, "aria-hidden": "true" }), `${namespace}/${name}`),
    element("span", { class: `badge ${mood}` }, state),
    element("span", { class: "faint right" }, since));
}

function explanation(why, opened) {
  const found = [];
  if (why.suggestion) found.push(element("p", { class: "suggestion" }, why.suggestion));
  if (why.line) found.push(element("p", { class: "small" }, why.line));
  if (why.history) found.push(element("p", { class: "small" }, why.history));
  if (why.reasons.length) {
    const key = `${why.namespace}/${why.name}`;
    found.push(element("details", { "data-key": key, open: opened.has(key) },
      element("summary", {}, `Why ${refusing(why.reasons)} it`),
      element("ul", { class: "reasons" }, ...why.reasons.map((reason) => element("li", {}, element("b", {}, String(reason.nodes)), ` ${reason.message}`, reason.example ? element("span", { class: "faint" }, reason.nodes === 1 ? ` (${reason.example})` : ` (such as ${reason.example})`) : ""))),
      why.nearest ? element("p", { class: "small" }, `Nearest: ${why.nearest}, ${why.nearest_lacks}`) : ""));
  }
  return found;
}

function refusing(reasons) {
  const nodes = reasons.reduce((sum, reason) => sum + reason.nodes, 0);
  return nodes === 1 ? "the node does not take" : `${nodes} nodes do not take`;
}

export function showRefusals(answer) {
  const found = matching(answer.refusals);
  const all = workloadsOf(answer.refusals);
  const workloads = workloadsOf(found);
  const attempts = plural(found.reduce((sum, refusal) => sum + refusal.count, 0), "attempt");
  const told = workloads === all ? `${attempts} of ${plural(all, "workload")}` : `${part(workloads, all)} workloads, ${attempts}`;
  by("refusals-count").textContent = all ? count(answer, told) : "";
  tally("refusals", part(workloads, all), answer);
  const cards = found.map((refusal) =>
    element("li", { class: "card" },
      element("p", { class: "card-head" }, element("b", {}, `${refusal.namespace}/${refusal.name || refusal.kind}`),
        refusal.count > 1 ? element("span", { class: "badge" }, plural(refusal.count, "attempt")) : "",
        element("span", { class: "faint right" }, `${age(Date.now() / 1000 - refusal.last)} ago`)),
      element("p", { class: "small" }, element("code", {}, refusal.code), ` ${refusal.kind}: ${refusal.message}`)));
  replace(by("refusals-list"), cards.length ? cards : [all ? unmatched("refusal") : nothing(answer, "Nothing was refused")]);
}

function workloadsOf(refusals) {
  return new Set(refusals.map((refusal) => `${refusal.namespace}/${refusal.kind}/${refusal.name}`)).size;
}

function plural(number, noun) {
  return `${number} ${number === 1 ? noun : `${noun}s`}`;
}

export function showQuota(answer) {
  const all = limited(answer);
  const { namespace } = model.filter;
  const cards = all.filter((item) => !namespace || item.namespace === namespace).map((item) => {
    const rows = item.families.filter((row) => row.limit !== null).map((row) => quotaRow(row.family === "*" ? "all" : titleOfFamily(row.family), row.used, row.limit, `${row.used} / ${row.limit}${row.pending ? `, ${row.pending} pending` : ""}`));
    if (item.memory_limit_mib !== null) rows.push(quotaRow("memory", item.memory_used_mib, item.memory_limit_mib, `${gib(item.memory_used_mib)} / ${gib(item.memory_limit_mib)} GiB`));
    return element("li", { class: "card" },
      element("p", { class: "card-head" }, element("b", {}, element("i", { class: `cell ${colourOf(item.namespace)}`, "aria-hidden": "true" }), item.namespace),
        item.enforced ? "" : element("span", { class: "badge" }, "not enforced"),
        item.gated ? element("span", { class: "badge warn" }, `${item.gated} waiting`) : ""), ...rows);
  });
  const amount = part(cards.length, all.length);
  tally("quota", amount, answer);
  by("quota-count").textContent = all.length ? count(answer, cards.length < all.length ? amount : "") : "";
  replace(by("quota-list"), cards.length ? cards : [all.length ? unmatched("quota") : nothing(answer, "No quota is set")]);
}

function quotaRow(name, used, limit, text) {
  return element("p", { class: "quota-row" }, element("span", {}, name), bar([[used >= limit ? "full" : "used", used]], limit, `${name}: ${text}`), element("span", { class: "number" }, text));
}

export function showDetail(node) {
  by("detail-title").textContent = node.name;
  const pools = node.pools.map((pool) => element("section", { class: "detail-pool" },
    element("h3", {}, pool.resource), picture(pool),
    element("dl", {}, ...facts(pool).flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)])),
    pool.holders.length ? element("ul", { class: "plain" }, ...pool.holders.map((holder) => element("li", {}, element("i", { class: `cell ${colourOf(holder.namespace)}`, "aria-hidden": "true" }), titleOf(holder), holder.outside ? element("span", { class: "badge warn" }, "bound round gpusched") : ""))) : element("p", { class: "faint" }, "Held by nobody."),
    ...pool.notes.map((note) => element("p", { class: "small" }, note))));
  replace(by("detail-body"), [element("p", { class: "faint" }, [node.state.replace("-", " "), ...node.notes].join(" · ")), ...pools]);
}

function facts(pool) {
  return [
    ["Product", pool.product || "unknown"],
    ["Family", pool.family ? titleOfFamily(pool.family) : "unknown"],
    ["Sharing", sharing(pool) || "none"],
    ["Slots", `${pool.used} of ${pool.slots} held${pool.devices ? `, ${pool.devices} ${pool.sharing === "mig" ? "instances" : "GPUs"}` : ""}`],
    ["Memory", pool.device_memory_mib === null ? "unknown" : `${gib(pool.device_memory_mib)} GiB each, ${gib(pool.slot_memory_mib)} GiB a slot`],
    ["Claimed", pool.claimed_mib ? `${gib(pool.claimed_mib)} GiB` : "nothing"],
    ...(pool.blocked ? [["Blocked", pool.blocked]] : []),
  ];
}
