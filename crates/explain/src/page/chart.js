"use strict";
// Live ranges: rows of the listing downwards, registers and slots across. Only visible parts are drawn.
const chart = (() => {
  const COLUMN = 34, BAR = 22;
  const $ = id => document.getElementById(id);
  const pane = $("chart"), body = $("chart-body"), head = $("chart-head");
  let view = null, ranges = [], byColumn = [], edits = new Map();

  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let palette = {};
  function readPalette() {
    // Colors of the page depend on the theme; a canvas needs resolved colors.
    const probe = document.createElement("i");
    document.body.append(probe);
    for (const name of ["text", "muted", "faint", "line", "band", "pane", "current", "spill", "fill", "move", "exchange", "slot-move", "remat", "accent"]) {
      probe.style.color = `var(--${name})`;
      palette[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    palette.dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const theme = document.documentElement.dataset.theme;
    if (theme) palette.dark = theme === "dark";
  }
  const hue = key => {
    let h = 0;
    for (const c of key) h = (h * 31 + c.charCodeAt(0)) >>> 0;
    const n = parseInt(key.slice(1), 10);
    return Math.round((Number.isNaN(n) ? h : n) * 137.508 + (key[0] === "t" ? 60 : 0)) % 360;
  };
  const barColor = (key, alpha) => `hsl(${hue(key)} ${key[0] === "t" ? 14 : palette.dark ? 44 : 60}% ${palette.dark ? 44 : 70}% / ${alpha})`;

  function fit(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  function load(next) {
    view = next;
    ranges = view.solution.ranges;
    byColumn = view.solution.columns.map(() => []);
    for (const range of ranges) byColumn[range[1]].push(range);
    for (const column of byColumn) column.sort((a, b) => a[2] - b[2]);
    edits = new Map();
    view.rows.forEach((row, index) => { if (row[0] === "edit") edits.set(index, row); });
    decide();
    pane.firstElementChild.style.width = Math.max(view.solution.columns.length * COLUMN + 8, 1) + "px";
    pane.firstElementChild.style.height = view.rows.length * view.rowHeight + "px";
    document.documentElement.style.setProperty("--chart",
      Math.min(document.body.classList.contains("wide") ? 42 : 30, Math.max(13, (view.solution.columns.length * COLUMN + 30) / Math.max(window.innerWidth, 1) * 100)) + "%");
    readPalette();
  }

  // For each range, the decision that created it: the first assignment of its value to its location that covers part of it.
  function decide() {
    const made = new Map();
    view.solution.decisions.forEach((d, index) => {
      if (d[0] !== "assign" || d[2] < 0 || d[4] < 0) return;
      const key = d[2] + ":" + d[4];
      if (!made.has(key)) made.set(key, []);
      made.get(key).push([index, view.rowOf(d[5]) * 2, view.rowOf(d[6], true) * 2]);
    });
    for (const range of ranges) {
      const found = (made.get(range[0] + ":" + range[1]) || []).find(([, from, to]) => from <= range[3] && to >= range[2]);
      range[4] = found ? found[0] : -1;
    }
  }

  // First range of a column that ends after `at`.
  function firstAfter(column, at) {
    let low = 0, high = column.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (column[mid][3] <= at) low = mid + 1; else high = mid;
    }
    return low;
  }

  function draw() {
    if (!view || !pane.clientWidth) return;
    const width = pane.clientWidth, height = pane.clientHeight, left = pane.scrollLeft, top = pane.scrollTop;
    const rowHeight = view.rowHeight, half = rowHeight / 2;
    const c = fit(body, width, height);
    const firstRow = Math.floor(top / rowHeight), lastRow = Math.min(view.rows.length, Math.ceil((top + height) / rowHeight));
    const firstColumn = Math.max(0, Math.floor(left / COLUMN)), lastColumn = Math.min(byColumn.length, Math.ceil((left + width) / COLUMN));
    const hot = view.hot(), step = view.step(), decision = step >= 0 ? view.solution.decisions[step] : null;
    for (let r = firstRow; r < lastRow; r++) {
      if (view.rows[r][0] === "block") { c.fillStyle = palette.band; c.fillRect(0, r * rowHeight - top, width, rowHeight); }
    }
    if (decision && decision[5] >= 0) {
      const from = view.rowOf(decision[5]), to = Math.max(from + 1, view.rowOf(decision[6], true));
      c.fillStyle = palette.current;
      c.fillRect(0, from * rowHeight - top, width, (to - from) * rowHeight);
    }
    c.strokeStyle = palette.line;
    c.lineWidth = 1;
    c.beginPath();
    for (let k = firstColumn; k <= lastColumn; k++) {
      const x = Math.round(k * COLUMN - left + COLUMN / 2) + .5;
      c.moveTo(x, 0);
      c.lineTo(x, height);
    }
    c.globalAlpha = .6;
    c.stroke();
    c.globalAlpha = 1;
    c.font = "10px " + color("--mono");
    c.textAlign = "center";
    for (let k = firstColumn; k < lastColumn; k++) {
      const column = byColumn[k], isSlot = view.solution.columns[k][1];
      for (let i = firstAfter(column, firstRow * 2); i < column.length && column[i][2] < lastRow * 2; i++) {
        bar(c, column[i], k * COLUMN - left + (COLUMN - BAR) / 2, isSlot, half, top, height, hot, step);
      }
    }
    for (let r = firstRow; r < lastRow; r++) if (edits.has(r)) edit(c, edits.get(r), r * rowHeight - top + half, left, hot);
    if (decision && decision[4] >= 0 && decision[5] >= 0) {
      const from = view.rowOf(decision[5]), to = Math.max(from + 1, view.rowOf(decision[6], true));
      c.strokeStyle = palette.accent;
      c.lineWidth = 2;
      c.strokeRect(decision[4] * COLUMN - left + 4, from * rowHeight - top + 1, COLUMN - 8, (to - from) * rowHeight - 2);
    }
    drawHead(width, left, firstColumn, lastColumn);
  }

  function bar(c, range, x, isSlot, half, top, height, hot, step) {
    const key = view.key(range[0]), y = range[2] * half - top, h = (range[3] - range[2]) * half;
    const decided = step < 0 || range[4] <= step;
    const alpha = !decided ? .12 : step < 0 && hot && hot !== key ? .22 : isSlot ? .55 : 1;
    const drawnTop = Math.max(y + 1, -8), drawnHeight = Math.min(y + h - 1, height + 8) - drawnTop;
    if (drawnHeight <= 0) return;
    c.fillStyle = barColor(key, alpha);
    c.beginPath();
    c.roundRect(x, drawnTop, BAR, drawnHeight, 4);
    c.fill();
    if (isSlot) {
      c.save();
      c.clip();
      c.strokeStyle = palette.pane;
      c.lineWidth = 2;
      c.globalAlpha = .55;
      c.beginPath();
      for (let s = drawnTop - BAR - (drawnTop - y + 1000000) % 6; s < drawnTop + drawnHeight; s += 6) { c.moveTo(x, s + BAR); c.lineTo(x + BAR, s); }
      c.stroke();
      c.restore();
    }
    if (hot === key) {
      c.strokeStyle = palette.text;
      c.lineWidth = 1.5;
      c.stroke();
    }
    if (h < 12 || alpha < .2) return;
    // The name stays visible as long as the bar is.
    const at = Math.min(Math.max(y + 12, 12), y + h - 4);
    c.fillStyle = isSlot ? palette.text : palette.dark ? "#fff" : "#1b1d22";
    c.globalAlpha = alpha < .5 ? .45 : 1;
    const name = view.name(range[0]);
    c.fillText(name.length > 7 ? name.slice(0, 6) + "…" : name, x + BAR / 2, at, COLUMN - 3);
    c.globalAlpha = 1;
  }

  const EDIT = { spill: "spill", fill: "fill", move: "move", exchange: "exchange", remat: "remat", "slot move": "slot-move" };

  function edit(c, row, y, left, hot) {
    const center = column => column * COLUMN - left + COLUMN / 2;
    row[7].forEach(([vreg, from, to], index) => {
      const key = vreg >= 0 ? view.key(vreg) : null, shift = row[7].length > 1 ? index * 5 - 2.5 : 0;
      c.globalAlpha = view.step() < 0 && hot && hot !== key ? .25 : 1;
      c.strokeStyle = c.fillStyle = palette[EDIT[row[2]] || "move"];
      c.lineWidth = 2;
      const end = center(to);
      if (from < 0) {
        c.beginPath();
        c.arc(end, y, 5, 0, 7);
        c.fill();
      } else {
        const start = center(from), way = Math.sign(end - start) || 1;
        c.beginPath();
        c.moveTo(start, y + shift);
        c.lineTo(end - way * 6, y + shift);
        c.stroke();
        c.beginPath();
        c.arc(start, y + shift, 3, 0, 7);
        c.moveTo(end, y + shift);
        c.lineTo(end - way * 8, y + shift - 4.5);
        c.lineTo(end - way * 8, y + shift + 4.5);
        c.fill();
      }
      c.globalAlpha = 1;
    });
  }

  function drawHead(width, left, first, last) {
    const c = fit(head, width, 30);
    c.font = "11px " + color("--mono");
    c.textAlign = "center";
    c.textBaseline = "middle";
    for (let k = first; k < last; k++) {
      c.fillStyle = view.solution.columns[k][1] ? palette.muted : palette.text;
      c.fillText(view.solution.columns[k][0], k * COLUMN - left + COLUMN / 2, 16, COLUMN - 1);
    }
  }

  // The element under the pointer: a range, or the row of an edit.
  function at(event) {
    const box = pane.getBoundingClientRect();
    const x = event.clientX - box.left + pane.scrollLeft, y = event.clientY - box.top + pane.scrollTop;
    const column = Math.floor(x / COLUMN), point = y / (view.rowHeight / 2), row = Math.floor(point / 2);
    const list = byColumn[column] || [], range = list[firstAfter(list, point)];
    return { row, range: range && range[2] <= point ? range : null, edit: edits.get(row) };
  }

  // Color of a value's bars in the light theme.
  const lightColor = key => `hsl(${hue(key)} ${key[0] === "t" ? 14 : 60}% 70%)`;

  return { load, draw, at, readPalette, pane, lightColor, edits: () => edits };
})();
