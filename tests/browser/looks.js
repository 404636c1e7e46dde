// What a careful look at a panel finds: each function takes the panel's element and lists faults in words.
({
  // Labels that are cut, boxes that scroll sideways, words of pictures outside them or over each other.
  layout(root) {
    const faults = [], name = e => JSON.stringify(e.textContent.trim().slice(0, 40));
    const wider = e => e.scrollWidth > e.clientWidth + 1;
    for (const e of root.querySelectorAll('.widget-label, button'))
      if (e.clientWidth && wider(e)) faults.push(`cut: ${name(e)}`);
    const boxes = root.querySelectorAll('.widget-html, .widget-html-content');
    for (const e of [root.closest('.jp-WindowedPanel-outer'), root.parentElement, root, ...boxes])
      if (wider(e)) faults.push(`scrolls sideways by ${e.scrollWidth - e.clientWidth}: ${name(e)}`);
    for (const svg of root.querySelectorAll('svg.rk-plot')) {
      const whole = svg.getBoundingClientRect();
      const words = [...svg.querySelectorAll('text')].map(e => ({e, r: e.getBoundingClientRect()}));
      words.forEach(({e, r}, n) => {
        if (r.left < whole.left - 1 || r.right > whole.right + 1 || r.top < whole.top - 1
            || r.bottom > whole.bottom + 1) faults.push(`outside its picture: ${name(e)}`);
        for (const other of words.slice(n + 1)) {
          const width = Math.min(r.right, other.r.right) - Math.max(r.left, other.r.left);
          const height = Math.min(r.bottom, other.r.bottom) - Math.max(r.top, other.r.top);
          if (width > 2 && height > 0.4 * Math.min(r.height, other.r.height))
            faults.push(`over each other: ${name(e)} and ${name(other.e)}`);
        }
      });
    }
    return faults;
  },

  // What stands out too little from the page, as WCAG counts it: words below 3 to 1, dots below 1.5 to 1.
  contrast(root) {
    const rgba = colour => (colour.match(/[0-9.]+/g) || [0, 0, 0, 0]).map(Number);
    const over = (top, below) => {
      const alpha = top.length > 3 ? top[3] : 1;
      return below.map((v, n) => alpha * top[n] + (1 - alpha) * v);
    };
    const page = e => e ? over(rgba(getComputedStyle(e).backgroundColor), page(e.parentElement))
                        : [255, 255, 255];
    const light = colour => colour.map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
    const ratio = (ink, below) => {
      const [least, most] = [light(over(ink, below)), light(below)].sort((a, b) => a - b);
      return (most + 0.05) / (least + 0.05);
    };
    const opacity = e => e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1;
    // The numbers in the cells of a map stand on the map, not on the page.
    const maps = [...root.querySelectorAll('svg.rk-plot image')].map(e => e.getBoundingClientRect());
    const onMap = ({left, right, top, bottom}) =>
      maps.some(m => left > m.left && right < m.right && top > m.top && bottom < m.bottom);
    const faint = [];
    for (const e of root.querySelectorAll('*')) {
      const speaks = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
      const hidden = !e.getClientRects().length || e.closest('[disabled], option, style, title, desc');
      if (!speaks || hidden || onMap(e.getBoundingClientRect())) continue;
      const style = getComputedStyle(e);
      const ink = rgba(e.tagName === 'text' ? style.fill : style.color).slice(0, 3);
      const found = ratio([...ink, opacity(e)], page(e));
      if (found < 3) faint.push(`${found.toFixed(1)}: ${e.textContent.trim().slice(0, 40)}`);
    }
    for (const e of root.querySelectorAll('svg.rk-plot use')) {
      const {fill, stroke} = getComputedStyle(e), below = page(e.closest('div'));
      const found = Math.max(...[fill, stroke].map(c => c === 'none' ? 1 : ratio(rgba(c), below)));
      if (found < 1.5) faint.push(`${found.toFixed(1)}: a dot of ${e.closest('svg').ariaLabel}`);
    }
    return [...new Set(faint)];
  },

  // Controls without a tooltip: of their own, of their label, or around both.
  tooltips(root) {
    const tip = e => e && (e.title || e.querySelector('[title]:not([title=""])'));
    return [...root.querySelectorAll('.noUi-handle, input, select, textarea, button')]
      .filter(e => !tip(e) && !tip(e.closest('.jupyter-widgets:not(.widget-container)'))
                   && !e.closest('[title]:not([title=""])'))
      .map(e => `${e.tagName} ${e.closest('.jupyter-widgets').innerText.slice(0, 20)}`);
  },

  // Number the controls in the order of the page, put the focus on the first, and count them.
  stops(root) {
    const kinds = '.noUi-handle, .widget-readout, input, select, textarea, button';
    const all = [...root.querySelectorAll(kinds)]
      .filter(e => !e.disabled && e.getClientRects().length && !e.closest('[disabled]'));
    all.forEach((e, n) => e.dataset.stop = n);
    all[0].focus();
    return all.length;
  },
})
