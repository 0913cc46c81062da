// Rules of WCAG 2.2 that can be worked out from the page itself: an object of lists of sentences.
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  function rgba(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }

  function over(top, under) {
    return [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  }

  function luminance(colour) {
    const [r, g, b] = colour.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function ratio(one, other) {
    const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  }

  // What is behind an element: translucent layers are mixed.
  function ground(el) {
    const layers = [];
    for (let at = el; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  }

  function seen(el) {
    const box = el.getBoundingClientRect();
    return el.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && box.width > 1 && box.height > 1 && box.right > 0;
  }

  // 1.4.3: text 4.5 : 1, large text 3 : 1.
  function contrast() {
    const poor = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode.data.trim();
      const el = walker.currentNode.parentElement;
      if (!text || !seen(el) || el.closest("button:disabled, noscript, option")) continue;
      const style = getComputedStyle(el);
      const size = parseFloat(style.fontSize);
      const behind = ground(el);
      const found = ratio(over(rgba(style.color), behind), behind);
      const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      if (found < (large ? 3 : 4.5)) poor.push(`text ${text.slice(0, 30)} has contrast ${found.toFixed(2)}`);
    }
    return poor;
  }

  // 1.4.11: what tells something without text 3 : 1 against what is beside it.
  function fills() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => rgba(style.getPropertyValue(name).trim());
    const names = [...Array(12).keys()].map((i) => `--c${i}`).concat(["--c-more", "--used", "--full", "--other"]);
    return names
      .map((name) => [name, ratio(colour(name), colour("--surface"))])
      .filter(([, found]) => found < 3)
      .map(([name, found]) => `fill ${name} has contrast ${found.toFixed(2)}`);
  }

  // 1.3.1, 2.4.1, 2.4.2, 3.1.1: landmarks, title, language, headings in order.
  function outline() {
    const found = [];
    if (!document.documentElement.lang) found.push("no language");
    if (!document.title) found.push("no title");
    for (const tag of ["main", "header", "h1"]) {
      if (document.querySelectorAll(tag).length !== 1) found.push(`not one ${tag}`);
    }
    let before = 0;
    for (const heading of [...document.querySelectorAll("h1, h2, h3, h4")].filter((el) => el.checkVisibility())) {
      const level = Number(heading.tagName[1]);
      if (level > before + 1) found.push(`heading ${heading.textContent} skips a level`);
      before = level;
    }
    return found;
  }

  // 4.1.2, 2.4.3: references lead somewhere, names are there once, focus follows the document.
  function references() {
    const found = [];
    const ids = [...document.querySelectorAll("[id]")].map((el) => el.id);
    for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) found.push(`id ${id} twice`);
    for (const name of ["aria-labelledby", "aria-controls", "aria-describedby"]) {
      for (const el of document.querySelectorAll(`[${name}]`)) {
        const lost = el.getAttribute(name).split(" ").filter((id) => !document.getElementById(id));
        found.push(...lost.map((id) => `${name} ${id} is nowhere`));
      }
    }
    for (const el of document.querySelectorAll("[tabindex]")) {
      if (Number(el.getAttribute("tabindex")) > 0) found.push("tabindex above 0");
    }
    return found;
  }

  // 2.5.8 and the rules of ARIA for tables.
  function parts() {
    const found = [];
    for (const el of [...document.querySelectorAll("button, select, input")].filter(seen)) {
      const { width, height } = el.getBoundingClientRect();
      if (width < 24 || height < 24) found.push(`target ${el.textContent || el.id} is ${width}×${height}`);
    }
    for (const row of document.querySelectorAll('[role="row"]')) {
      if (!row.closest('[role="rowgroup"]')) found.push("row outside a rowgroup");
    }
    for (const cell of document.querySelectorAll('[role="cell"]')) {
      if (cell.parentElement.getAttribute("role") !== "row") found.push("cell outside a row");
    }
    return found;
  }

  return [...new Set([...contrast(), ...fills(), ...outline(), ...references(), ...parts()])];
})()
