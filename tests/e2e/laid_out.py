"""Scripts that find what of the page is not laid out as it should be."""

#: What reaches beyond its row, its row's neighbour or the window, or is cut by what it stands in.
CUT = """[...document.querySelectorAll('#rows :is(.cell, .chip, .name, .kind, .badge)')].filter((el) => {
  const own = el.getBoundingClientRect();
  const row = el.closest('[role=row]');
  const outer = row.getBoundingClientRect();
  const next = row.nextElementSibling?.getBoundingClientRect();
  const cut = (box) => box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== 'visible';
  return own.width === 0 || own.left < outer.left || own.right > outer.right + 1 || own.right > innerWidth
    || own.bottom > outer.bottom || (next && own.bottom > next.top) || cut(el) || cut(el.parentElement);
}).map((el) => el.className + ' ' + el.textContent)"""
#: Words of which a part stands on another line. Names are broken between their words, unless one is longer than a line.
TORN = r"""(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const torn = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    for (const word of text.data.matchAll(/(?<![A-Za-z0-9])[A-Za-z0-9]{1,30}(?![A-Za-z0-9])/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
      if (lines.size > 1) torn.push(`${word[0]} in ${text.data}`);
    }
  }
  return torn;
})()"""
#: Lists beside the nodes that are wider than their place.
WIDE = """[...document.querySelectorAll('aside, aside *')].filter((el) => {
  return el.scrollWidth > el.clientWidth + 1 && el.clientWidth;
}).map((el) => el.textContent)"""
#: The sections beside the nodes that can be seen in part, by their headings.
IN_SIGHT = """[...document.querySelectorAll('aside h2')].filter((title) => {
  const own = title.getBoundingClientRect();
  const top = document.elementFromPoint(own.left + 5, own.top + own.height / 2);
  return title.contains(top);
}).map((title) => title.closest('section').id)"""
