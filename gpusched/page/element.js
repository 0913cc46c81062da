// Elements from data. Text is always set as text, so that no name in the cluster can become markup.

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

export function replace(parent, children) {
  parent.replaceChildren(...children);
}

// A bar of parts; its text says the same.
export function bar(parts, whole, label) {
  const made = element("span", { class: "gauge", role: "img", "aria-label": label });
  for (const [kind, amount] of parts) {
    if (amount <= 0) continue;
    const part = element("span", { class: kind });
    part.style.width = `${Math.min(100, (100 * amount) / Math.max(whole, 1))}%`;
    made.append(part);
  }
  return made;
}

export function age(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}
