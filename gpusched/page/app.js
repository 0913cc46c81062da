// Puts the page together: what is asked for when, and what is drawn anew.

import { follow, get, Refused, setToken, token } from "./api.js";
import { element, replace } from "./element.js";
import { onChoose, showMap } from "./map.js";
import { model, namespaces, namespacesBeside, part, shown, takeNodes, titleOfFamily } from "./model.js";
import { matchingBeside, showDetail, showFamilies, showLegend, showQuota, showRefusals, showWaiting } from "./panels.js";
import { goTo, onOpen, showRows } from "./rows.js";

const POLL = 5000;
const SIDE = 3000;
const by = (id) => document.getElementById(id);
const notes = new Map();
let refusals = -1;

function connection(state, text) {
  if (by("connection").dataset.state === state) return;
  by("connection").dataset.state = state;
  by("connection-text").textContent = text;
}

function say(text) {
  by("announcer").textContent = text;
}

// Drawing

function drawNodes() {
  const names = namespaces();
  const found = shown();
  showFamilies((family) => setFilter("family", family));
  showLegend(names, (name) => setFilter("namespace", name));
  options("family", model.totals.map((total) => total.family), titleOfFamily);
  by("node-count").textContent = part(found.length, model.nodes.size);
  drawEmpty(found.length);
  by("clear").disabled = !Object.values(model.filter).some(Boolean);
  showMap(found);
  showRows(found);
  return found.length;
}

// What depends on the nodes and on the lists beside them.
function drawEmpty(count) {
  options("namespace", [...new Set([...namespaces().map(([name]) => name), ...namespacesBeside()])].sort());
  const beside = matchingBeside();
  by("empty").hidden = count > 0 && !model.denied;
  by("empty").textContent = model.denied || (model.nodes.size ? `No node matches${beside && `; ${beside}`}. Clear the filters to see all.` : "This cluster has no GPU nodes.");
}

function drawBeside() {
  if (!model.beside) return;
  const { pods, lacking, refused, quota } = model.beside;
  showWaiting(pods, lacking.workloads);
  showRefusals(refused);
  showQuota(quota);
}

function options(id, names, title = (name) => name) {
  const select = by(id);
  const wanted = [...new Set([...names, model.filter[id]])].filter(Boolean);
  if ([...select.options].slice(1).map((option) => option.value).join("|") === wanted.join("|")) return;
  replace(select, [element("option", { value: "" }, "all"), ...wanted.map((name) => element("option", { value: name }, title(name)))]);
  select.value = model.filter[id];
}

function setFilter(name, value) {
  model.filter[name] = value;
  by(name).value = value;
  filtered();
}

function filtered() {
  const query = new URLSearchParams(Object.entries(model.filter).filter(([, value]) => value)).toString();
  history.replaceState(null, "", query ? `#${query}` : "#");
  const count = drawNodes();
  drawBeside();
  const waiting = by("waiting-jump").textContent;
  say(`${count} ${count === 1 ? "node" : "nodes"} shown, ${waiting === "–" ? "none" : waiting} waiting`);
}

function note(part, lines) {
  notes.set(part, lines);
  const all = [...new Set([...notes.values()].flat())];
  const old = all.filter((line) => line.startsWith("What is shown may be old"));
  by("problem").hidden = !old.length;
  by("problem").textContent = old[0] || "";
  by("notes").textContent = all.filter((line) => !old.includes(line) && !notes.get("nodes")?.includes(line)).join(" ");
  by("devices-note").textContent = (notes.get("nodes") || []).filter((line) => !old.includes(line)).join(" ");
}

// Asking

async function loadNodes() {
  const since = model.generation >= 0 ? { since: model.generation, instance: model.instance } : {};
  let answer;
  try {
    answer = await get("nodes", since);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 403) throw error;
    model.denied = error.message;
    drawEmpty(0);
    return;
  }
  model.denied = "";
  by("version").textContent = answer.version;
  note("nodes", answer.notes);
  if (answer.complete || answer.nodes.length || answer.gone.length) {
    takeNodes(answer);
    drawNodes();
  } else model.generation = answer.generation;
}

async function loadSide() {
  const [pods, lacking, refused, quota] = await Promise.all([get("pods"), get("workloads"), get("refusals"), get("quota")]);
  model.beside = { pods, lacking, refused, quota };
  drawBeside();
  if (model.generation >= 0 || model.denied) drawEmpty(shown().length);
  if (pods.pods.some((pod) => pod.why === null)) setTimeout(sideSoon, SIDE);
  note("pods", pods.notes);
  note("workloads", lacking.notes);
  note("refusals", refused.notes);
}

// At most one request of a kind at a time, and none sooner than a pause after the one before.
function paced(task, pause) {
  let running = false;
  let again = false;
  return async function run() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      do {
        again = false;
        await task();
        await new Promise((done) => setTimeout(done, pause));
      } while (again);
    } catch (error) {
      failed(error);
    } finally {
      running = false;
    }
  };
}

const nodesSoon = paced(loadNodes, 300);
const sideSoon = paced(loadSide, SIDE);

function failed(error) {
  if (error instanceof Refused && error.status === 401) askToken(error.message);
  else if (error instanceof Refused) {
    by("problem").hidden = false;
    by("problem").textContent = error.message;
  } else connection("lost", "not connected, trying again");
}

async function live() {
  let wait = 1000;
  for (;;) {
    if (by("login").open) await new Promise((done) => by("login").addEventListener("close", done, { once: true }));
    try {
      await follow((event) => {
        connection("live", "live");
        wait = 1000;
        if (event.instance !== model.instance || event.generation !== model.generation) {
          nodesSoon();
          sideSoon();
        } else if (event.refusals !== refusals) sideSoon();
        refusals = event.refusals;
      });
      continue;
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        askToken(error.message);
        continue;
      }
      if (error instanceof Refused) connection("polling", `asking every ${POLL / 1000} s`);
      else connection("lost", "not connected, trying again");
    }
    await new Promise((done) => setTimeout(done, Math.max(wait, 1000)));
    wait = Math.min(wait * 2, 30000);
  }
}

// Without the stream everything is asked for; with it the nodes alone, as long as there is no right to list them.
setInterval(() => {
  if (document.hidden || by("login").open) return;
  const deaf = by("connection").dataset.state !== "live";
  if (deaf || model.generation < 0) nodesSoon();
  if (deaf) sideSoon();
}, POLL);

// Explanations and ages go stale by themselves.
setInterval(() => {
  if (!document.hidden && !by("login").open) sideSoon();
}, 15000);

function askToken(message) {
  if (by("login").open) return;
  by("login-text").textContent = token() ? message : "This page shows what you may read in the cluster.";
  setToken("");
  by("forget").hidden = true;
  by("login").showModal();
}

by("login").addEventListener("cancel", (event) => event.preventDefault());
by("login-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(by("token").value.trim());
  by("token").value = "";
  by("forget").hidden = false;
  by("login").close();
  start();
});
by("forget").addEventListener("click", () => {
  setToken("");
  location.reload();
});

// Controls

for (const name of Object.keys(model.filter)) {
  by(name).addEventListener("input", () => {
    model.filter[name] = by(name).value.trim();
    filtered();
  });
}
by("filters").addEventListener("submit", (event) => event.preventDefault());
by("filters").addEventListener("reset", () => {
  for (const name of Object.keys(model.filter)) model.filter[name] = "";
  setTimeout(filtered);
});
addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea, dialog");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    by("find").focus();
  }
});
onOpen((node) => {
  showDetail(node);
  by("detail").showModal();
});
onChoose(goTo);
for (const button of document.querySelectorAll("#jump button")) {
  button.addEventListener("click", () => {
    const panel = by(button.dataset.panel);
    panel.scrollIntoView({ block: "start", behavior: "instant" });
    panel.focus({ preventScroll: true });
  });
}
addEventListener("resize", () => showMap(shown()));

const theme = by("theme");
theme.value = localStorage.getItem("gpusched-theme") || "auto";
function applyTheme() {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("gpusched-theme", theme.value);
  showMap(shown());
}
theme.addEventListener("change", applyTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

async function start() {
  await Promise.all([nodesSoon(), sideSoon()]);
}

for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
  if (name in model.filter) {
    model.filter[name] = value;
    by(name).value = value;
  }
}
by("forget").hidden = !token();
applyTheme();
start();
live();
