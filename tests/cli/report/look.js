// What a reader of the page would complain about; an empty list if nothing.
(() => {
  const found = [];
  const name = (el) => `${el.tagName.toLowerCase()}.${el.getAttribute('class') || ''} "${(el.textContent || '').trim().slice(0, 40)}"`;
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} wide of ${wide}`);
  const within = () => {
    for (const el of document.querySelectorAll('main *')) {
      if (el.closest('.wide, .only-said, pre')) continue;
      const [one, card] = [el.getBoundingClientRect(), (el.closest('.card, .gauge, .next, .note') || document.body).getBoundingClientRect()];
      if (one.width > 0 && one.right > card.right + 0.5) found.push(`${one.right - card.right} too far to the right: ${name(el)}`);
    }
  };
  within();

  // Colours as they are once everything below them is painted.
  const parse = (text) => {
    const n = (text.match(/[\d.]+/g) || []).map(Number);
    return { r: n[0] || 0, g: n[1] || 0, b: n[2] || 0, a: n.length > 3 ? n[3] : text === 'transparent' ? 0 : 1 };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1,
  });
  const below = (el) => {
    const layers = [];
    for (let at = el; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.a > 0) layers.push(colour);
      if (colour.a === 1) break;
    }
    return layers.reverse().reduce((all, one) => over(one, all), { r: 255, g: 255, b: 255, a: 1 });
  };
  const light = (c) => {
    const part = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(c.r) + 0.7152 * part(c.g) + 0.0722 * part(c.b);
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  let texts = 0;
  document.querySelectorAll('details').forEach((one) => { one.open = true; });
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const el = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || el.closest('style, .only-said')) continue;
    texts += 1;
    const style = getComputedStyle(el);
    const ink = parse(style.color);
    const paper = below(el);
    const ratio = contrast(over(ink, paper), paper);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${name(el)}`);
    if (parseFloat(style.fontSize) < 10.5) found.push(`small: ${name(el)}`);
  }
  if (document.documentElement.scrollWidth > wide) found.push('unfolded, the page is too wide');
  within();

  // The tasks: each to be seen, with a sign.
  const rows = [...document.querySelectorAll('.tasks .task')];
  for (const row of rows) {
    const box = row.getBoundingClientRect();
    if (box.width < 100 || box.height < 15 || getComputedStyle(row).visibility !== 'visible') found.push(`not to be seen: ${name(row)}`);
    if (row.querySelector('.sign').getBoundingClientRect().width < 3) found.push(`no sign: ${name(row)}`);
  }
  const kinds = new Set([...document.querySelectorAll('.tasks .sign')].map((sign) => getComputedStyle(sign).color));
  const after = [...document.querySelectorAll('.tasks .after')].flatMap((list) => list.textContent.split(', '));
  return { found, texts, tasks: rows.length, after: after.length, kinds: kinds.size,
    paper: getComputedStyle(document.body).backgroundColor };
})()
