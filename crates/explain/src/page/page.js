"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const ROW = 20, DECISION = 22;
  const state = { f: 0, a: 0, compare: false, pinned: null, hovered: null, step: -1, block: -1 };
  let func, solution, rows, instRow, columns, heads, detail = 2, paneWidth = 0;

  const element = (tag, className, text) => {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const hot = () => state.hovered || state.pinned;
  const nameOf = vreg => func.vregs[vreg][0];
  const keyOf = vreg => nameOf(vreg).split(".")[0];
  const number = n => n.toLocaleString("en-US", { maximumFractionDigits: 1 });

  // ---- text with values that are highlighted

  const VALUE = /\b[vt]\d+(?:\.(?:lo|hi))?\b/g;
  function spans(text, into, tag) {
    let last = 0;
    for (const match of text.matchAll(VALUE)) {
      into.append(text.slice(last, match.index));
      into.append(token(match[0], match[0].split(".")[0], tag));
      last = match.index + match[0].length;
    }
    into.append(text.slice(last));
    return into;
  }
  function token(text, key, tag) {
    const e = tag ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement("span");
    e.textContent = text;
    e.dataset.v = key;
    if (hot() === key) e.classList.add("hot");
    return e;
  }
  const EDIT_CLASS = { "slot move": "slot-move" };

  // Registers of an instruction are highlighted with the values in them. A narrower name is the same register.
  const WORD = /[a-z]+[0-9]*[a-z]*/g;
  const WHOLE = {};
  for (const [whole, narrow] of Object.entries({ rax: "eax ax al ah", rbx: "ebx bx bl bh", rcx: "ecx cx cl ch", rdx: "edx dx dl dh",
    rsi: "esi si sil", rdi: "edi di dil", rbp: "ebp bp bpl", rsp: "esp sp spl" })) for (const word of narrow.split(" ")) WHOLE[word] = whole;
  function wholeRegister(word) {
    if (WHOLE[word]) return WHOLE[word];
    if (/^r\d+[dwb]$/.test(word)) return word.slice(0, -1);
    if (/^w\d+$/.test(word)) return "x" + word.slice(1);
    if (/^[bhsqd]\d+$/.test(word)) return "d" + word.slice(1);
    return word;
  }
  function assembly(row, view) {
    const e = element("span", "asm");
    const held = new Map();
    for (const [vreg, column] of row[6]) if (column >= 0) held.set(wholeRegister(view.solution.columns[column][0]), keyOf(vreg));
    for (const [vreg, from, to] of row[7]) {
      if (vreg < 0) continue;
      for (const column of [from, to]) if (column >= 0) held.set(wholeRegister(view.solution.columns[column][0]), keyOf(vreg));
    }
    let last = 0;
    for (const match of row[3].matchAll(WORD)) {
      const key = held.get(wholeRegister(match[0]));
      if (key === undefined) continue;
      e.append(row[3].slice(last, match.index), token(match[0], key));
      last = match.index + match[0].length;
    }
    e.append(row[3].slice(last));
    return e;
  }

  // ---- a list of which only the visible part is in the page

  function virtual(list, height, count, make) {
    const spacer = list.firstElementChild;
    let shown = new Map(), frame = 0;
    const render = () => {
      frame = 0;
      const from = Math.max(0, Math.floor(list.scrollTop / height) - 6);
      const to = Math.min(count(), Math.ceil((list.scrollTop + list.clientHeight) / height) + 6);
      for (const [index, e] of shown) if (index < from || index >= to) { e.remove(); shown.delete(index); }
      const fresh = document.createDocumentFragment();
      for (let index = from; index < to; index++) {
        if (shown.has(index)) continue;
        const e = make(index);
        e.style.top = index * height + "px";
        fresh.append(e);
        shown.set(index, e);
      }
      spacer.append(fresh);
    };
    const renew = () => {
      for (const e of shown.values()) e.remove();
      shown = new Map();
      spacer.style.height = count() * height + "px";
      render();
    };
    list.addEventListener("scroll", () => { frame ||= requestAnimationFrame(render); }, { passive: true });
    const show = index => {
      const y = index * height;
      if (y < list.scrollTop + height || y > list.scrollTop + list.clientHeight - 2 * height) {
        list.scrollTop = Math.max(0, y - list.clientHeight / 3);
      }
    };
    return { render, renew, show };
  }

  // ---- the listing

  // Rows of all allocators side by side, in groups: common rows share one line, edits are above it, additional rows below.
  function sideBySide(solutions) {
    const ends = kind => kind === "block" || kind === "line" || kind === "inst" || kind === "elided";
    const cut = all => {
      const pieces = [];
      for (let i = 0; i < all.length;) {
        let end = i;
        while (end < all.length && !ends(all[end][0])) end++;
        end = Math.min(end + 1, all.length);
        while (end < all.length && all[end][0] === "more") end++;
        pieces.push(all.slice(i, end));
        i = end;
      }
      return pieces;
    };
    const parts = solutions.map(each => cut(each.rows)), out = [];
    for (let i = 0; i < Math.max(...parts.map(part => part.length)); i++) {
      const pieces = parts.map(part => part[i] || []);
      const starts = pieces.map(piece => { const at = piece.findIndex(row => ends(row[0])); return at < 0 ? piece.length : at; });
      const above = Math.max(...starts), height = Math.max(...pieces.map((piece, p) => above - starts[p] + piece.length));
      for (let k = 0; k < height; k++) {
        const cells = pieces.map((piece, p) => piece[k - above + starts[p]] || null), first = cells.find(cell => cell);
        const common = cells.find(cell => cell && (cell[1] >= 0 || ends(cell[0]))) || first;
        out.push([common[0], common[1], common[2], "", common[4], "", [], [], cells]);
      }
    }
    return out;
  }

  function titles(list) {
    const head = $("titles");
    head.replaceChildren(...list.map(([text, small]) => {
      const e = element("span", "", text);
      if (small) e.append(element("small", "", small));
      return e;
    }));
  }

  // Largest number of characters of a column. A longer text ends in an ellipsis, and shows up under the pointer.
  const MAX_TEXT = 60;
  const CHARACTER = (() => {
    const context = document.createElement("canvas").getContext("2d");
    context.font = "12px " + getComputedStyle(document.body).getPropertyValue("--mono");
    return context.measureText("0").width;
  })();

  // Column widths in pixels that fit the longest text in each.
  function widthsFor(titles) {
    const lengths = titles.map(([text, small]) => (small ? `${text} ${small}` : text).length);
    const fit = (k, length) => { if (length > lengths[k]) lengths[k] = length; };
    for (const row of rows) {
      if (row[0] === "block") continue;
      if (row[1] >= 0) fit(0, func.lines[row[1]][1].length + 4);
      if (state.compare) { row[8].forEach((cell, k) => cell && fit(k + 1, cell[3] ? cell[3].length : 14)); continue; }
      if (detail > 0 && row[0] === "edit") {
        const name = column => column < 0 ? 0 : solution.columns[column][0].length;
        fit(1, row[2].length + row[7].reduce((sum, [vreg, from, to]) => sum + (vreg >= 0 ? nameOf(vreg).length : 0) + name(from) + name(to) + 6, -1));
      } else if (detail > 0 && (row[0] === "inst" || row[0] === "elided")) fit(1, func.code[row[2]].length);
      fit(detail > 0 ? 2 : 1, row[3] ? row[3].length : 14);
      if (detail > 1 && row[5]) fit(3, row[5].length);
    }
    return lengths.map(length => Math.ceil(Math.min(length, MAX_TEXT) * CHARACTER) + 18);
  }

  function load() {
    func = data.functions[state.f];
    solution = func.solutions[state.a];
    rows = state.compare ? sideBySide(func.solutions) : solution.rows;
    heads = [];
    instRow = new Int32Array(func.code.length + 1).fill(-1);
    rows.forEach((row, index) => {
      if (row[0] === "block") heads.push([index, row[1] >= 0 ? func.lines[row[1]][0] : -1]);
      if (row[0] === "inst" || row[0] === "elided") instRow[row[2]] = index;
    });
    instRow[func.code.length] = rows.length;
    for (let i = 1; i < instRow.length; i++) if (instRow[i] < 0) instRow[i] = instRow[i - 1];
    document.body.classList.toggle("compare", state.compare);
    chart.load(view);
    $("target").textContent = func.target;
    // As many columns as fit. Rows of two columns that do not fit scroll sideways.
    let weights, head, widths;
    const total = () => widths.reduce((sum, width) => sum + width, 0);
    paneWidth = $("code-pane").clientWidth;
    detail = paneWidth < 520 ? 0 : paneWidth < 800 ? 1 : 2;
    do {
      [weights, head] = state.compare
        ? [[1.2, ...func.solutions.map(() => 1)], [[func.text], ...func.solutions.map(s => [s.allocator, `${number(s.cost.cost)} · ${s.cost.bytes} bytes`])]]
        : [[[1, 1.1], [[func.text], ["machine code"]]],
          [[1.1, 1.15, 1.1], [[func.text], ["before", "over values"], ["after", "allocated"]]],
          [[1.15, 1.25, 1.2, 0.8], [[func.text], ["before", "machine code over values"], ["after", "allocated"], ["bytes"]]]][detail];
      widths = widthsFor(head);
    } while (!state.compare && total() > paneWidth && detail-- > 0);
    detail = Math.max(detail, 0);
    titles(head);
    columns = widths.map((width, k) => `minmax(${width}px, ${weights[k]}fr)`).join(" ");
    $("rows").firstElementChild.style.minWidth = total() + "px";
    $("titles").style.gridTemplateColumns = columns;
    sideways();
    $("step-count").textContent = "";
    $("slider").max = Math.max(0, solution.decisions.length - 1);
    listing.renew();
    decisions.renew();
    cards();
    legend();
    drawGraph();
    setStep(Math.min(state.step, solution.decisions.length - 1));
  }

  // Makes room for the bar below rows that are wider than their pane, and moves the titles with them.
  function sideways() {
    const list = $("rows"), bar = () => list.offsetHeight - list.clientHeight;
    document.body.classList.toggle("sideways", list.scrollWidth > list.clientWidth);
    chart.pane.firstElementChild.style.marginBottom = bar() + "px";
    $("titles").scrollLeft = list.scrollLeft;
  }

  // Callbacks of the chart.
  const view = {
    rowHeight: ROW,
    get solution() { return solution; },
    get rows() { return solution.rows; },
    name: nameOf,
    key: keyOf,
    hot,
    step: () => state.step,
    // The row of an instruction. For an exclusive end, the row after the previous instruction.
    rowOf: (inst, isEnd) => {
      const row = instRow[Math.min(inst, func.code.length)];
      if (!isEnd) return Math.max(row, 0);
      return inst > 0 && instRow[inst - 1] >= 0 ? instRow[inst - 1] + 1 : Math.max(row, 0);
    },
  };

  function source(row) {
    const line = row[1] >= 0 ? func.lines[row[1]][1] : "";
    if (row[0] !== "block") return spans(line && "    " + line, element("span", "clif"));
    const e = spans(line || func.machineBlocks[row[2]] + ":", element("span", "clif"));
    const block = row[1] >= 0 ? func.blocks[func.lines[row[1]][0]] : null;
    if (block && block.times !== "1") e.append(element("span", "times", `  ×${block.times}`));
    return e;
  }

  function editText(row, view) {
    const e = element("span", "before");
    e.append(element("span", `kind ${EDIT_CLASS[row[2]] || row[2]}`, row[2]), " ");
    row[7].forEach(([vreg, from, to], index) => {
      if (index) e.append(", ");
      if (vreg >= 0) e.append(token(nameOf(vreg), keyOf(vreg)), " ");
      const name = column => view.solution.columns[column][0];
      e.append(from >= 0 ? `${name(from)} → ${name(to)}` : `→ ${name(to)}`);
    });
    return e;
  }

  function code(row, view) {
    if (row[0] === "elided") return element("span", "none", "elided");
    if (row[0] === "inst" && !row[3]) return element("span", "none", "no code needed");
    const e = assembly(row, view);
    if (row[0] === "edit") e.classList.add(EDIT_CLASS[row[2]] || row[2]);
    return e;
  }

  function makeRow(index) {
    const row = rows[index], e = element("div", `row ${row[0]}`);
    e.style.gridTemplateColumns = columns;
    if (row[0] === "block") {
      const block = row[1] >= 0 ? func.blocks[func.lines[row[1]][0]] : null;
      if (block && block.depth) e.style.setProperty("--deep", `var(--loop${Math.min(4, block.depth + 1)})`);
      e.append(source(row));
      return e;
    }
    e.append(source(row));
    e.addEventListener("pointerenter", () => {
      for (const cell of e.children) if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
    });
    if (state.compare) {
      row[8].forEach((cell, k) => e.append(cell ? code(cell, { solution: func.solutions[k] }) : element("span")));
      return e;
    }
    if (detail > 0) {
      if (row[0] === "edit") e.append(editText(row, view));
      else if (row[0] === "line") e.append(element("span", "none", "folded"));
      else e.append(row[0] === "inst" || row[0] === "elided" ? spans(func.code[row[2]], element("span", "before")) : element("span"));
    }
    e.append(code(row, view));
    if (detail > 1) e.append(element("span", "bytes", row[5]));
    if (state.step >= 0) {
      const d = solution.decisions[state.step];
      const from = d[5] >= 0 ? view.rowOf(d[5]) : -1;
      if (from >= 0 && index >= from && index < Math.max(from + 1, view.rowOf(d[6], true))) e.classList.add("range");
    }
    return e;
  }

  const listing = virtual($("rows"), ROW, () => rows.length, makeRow);

  // ---- allocators

  function cards() {
    const most = Math.max(...func.solutions.map(s => s.cost.cost), 1e-9);
    const best = Math.min(...func.solutions.map(s => s.cost.cost));
    $("cards").replaceChildren(...func.solutions.map((each, index) => {
      const e = element("button", "card"), c = each.cost;
      e.setAttribute("aria-pressed", String(!state.compare && index === state.a));
      const name = element("div", "name", each.allocator);
      name.append(element("span", "", number(c.cost) + (c.cost === best && func.solutions.length > 1 ? " ★" : "")));
      const meter = element("div", "meter"), fill = element("i");
      fill.style.width = `${Math.max(1, c.cost / most * 100)}%`;
      meter.append(fill);
      const parts = [["spill", c.spills], ["fill", c.fills], ["move", c.moves], ["exchange", c.exchanges], ["remat", c.remats]];
      const counts = parts.filter(([, n]) => n).map(([word, n]) => `${number(n)} ${word}${n === 1 ? "" : "s"}`).join(" · ") || "no edits";
      const second = `${number(c.bytes)} bytes · ${c.saved} callee-saved · ${number(each.decisions.filter(d => d[0] !== "stage").length)} decisions`;
      e.append(name, meter, element("div", "small", counts), element("div", "small", second));
      e.title = `Weighted cost ${number(c.cost)} loads (key ${index + 1})\n${counts}\n${second}\n${number(c.splits)} splits, ${number(c.evictions)} evictions, ${number(c.steps)} steps`;
      e.onclick = () => choose(index, false);
      return e;
    }));
    if (func.solutions.length < 2) return;
    const e = element("button", "card compare", "side by side");
    e.setAttribute("aria-pressed", String(state.compare));
    e.title = "All allocators side by side (c)";
    e.onclick = () => choose(state.a, !state.compare);
    $("cards").append(e);
  }
  function choose(a, compare) {
    // The current instruction stays visible.
    const top = Math.round($("rows").scrollTop / ROW);
    let inst = 0;
    for (let i = top; i < rows.length; i++) if (rows[i][0] === "inst" || rows[i][0] === "elided") { inst = rows[i][2]; break; }
    Object.assign(state, { a, compare, step: -1 });
    load();
    $("rows").scrollTop = top ? Math.max(0, instRow[inst] * ROW) : 0;
    hash();
  }

  function legend() {
    const used = new Set(solution.rows.filter(row => row[0] === "edit").map(row => row[2]));
    const e = $("legend");
    e.replaceChildren();
    const item = (className, text, color) => {
      const span = element("span"), mark = element("i", className);
      if (color) mark.style.color = `var(--${color})`;
      span.append(mark, text);
      e.append(span);
    };
    item("reg", "in a register");
    if (solution.columns.some(column => column[1])) item("slot", "in a slot");
    for (const word of used) item("", word, { "slot move": "slot-move" }[word] || word);
  }

  // ---- decisions

  const decisions = virtual($("decisions"), DECISION, () => solution.decisions.length, index => {
    const d = solution.decisions[index], e = element("div", `decision ${d[0]}`);
    const what = spans(d[1], element("span", "what"));
    if (d[0] !== "stage") e.append(element("span", `kind kind-${d[0]}`, d[0]));
    if (d[5] >= 0) {
      const block = blockAt(view.rowOf(d[5]));
      what.append(element("span", "muted", `  ${block >= 0 ? func.blocks[block].name + " " : ""}${d[6] > d[5] ? `i${d[5]}…i${d[6]}` : `i${d[5]}`}`));
    }
    e.append(what);
    e.classList.toggle("current", index === state.step);
    e.classList.toggle("later", state.step >= 0 && index > state.step);
    e.onclick = () => setStep(index);
    return e;
  });
  function blockAt(row) {
    let low = 0, high = heads.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (heads[mid][0] <= row) low = mid + 1; else high = mid;
    }
    return low ? heads[low - 1][1] : -1;
  }
  function setStep(step) {
    const count = solution.decisions.length;
    state.step = step;
    $("step-count").textContent = !count ? "" : step < 0 ? `${number(count)}` : `${number(step + 1)} of ${number(count)}`;
    $("slider").value = step < 0 ? count : step;
    $("slider").disabled = !count;
    let note = $("decisions").querySelector(".empty");
    if (note) note.remove();
    if (!count) $("decisions").append(element("div", "empty", "This allocator tells of no decisions."));
    if (step >= 0) {
      decisions.show(step);
      const d = solution.decisions[step];
      if (d[5] >= 0 && !state.compare) listing.show(view.rowOf(d[5]));
      state.pinned = d[2] >= 0 ? keyOf(d[2]) : null;
    }
    decisions.renew();
    listing.renew();
    light();
    hash();
  }
  const move = by => {
    const count = solution.decisions.length;
    if (count) setStep(Math.max(0, Math.min(count - 1, (state.step < 0 && by < 0 ? count : state.step) + by)));
  };

  // ---- the graph

  let camera = { x: 0, y: 0, k: 1 }, layout = null, nodeElements = [];
  function drawGraph() {
    const many = func.lines.length > 1200;
    const nodes = func.blocks.map(block => {
      const lines = many ? [] : func.lines.slice(block.lines[0] + 1, block.lines[1]).map(line => line[1]);
      const shown = lines.length > 14 ? [...lines.slice(0, 8), `… ${lines.length - 10} more`, ...lines.slice(-2)] : lines;
      const title = many ? block.name : func.lines[block.lines[0]][1].replace(/:$/, "");
      const short = title.length > 46 ? title.slice(0, 45) + "…" : title;
      const texts = shown.map(line => line.length > 46 ? line.slice(0, 45) + "…" : line);
      const width = Math.max(short.length + 3 + block.times.length, ...texts.map(text => text.length + 1)) * 6.7 + 20;
      return { w: width, h: 24 + texts.length * 15 + (texts.length ? 5 : 0), edges: block.edges, title: short, texts, block };
    });
    layout = graphLayout(nodes);
    const NS = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(NS, "svg"), world = document.createElementNS(NS, "g");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Control-flow graph of ${func.name}`);
    const make = (tag, attributes, className, parent) => {
      const e = document.createElementNS(NS, tag);
      for (const key in attributes) e.setAttribute(key, attributes[key]);
      if (className) e.setAttribute("class", className);
      parent.append(e);
      return e;
    };
    const lines = make("g", {}, "", world);
    const ports = new Map();
    for (const link of layout.links) {
      const from = layout.items[link.from], to = layout.items[link.to], edge = func.blocks[link.from].edges[link.k];
      const isBack = edge[2] || link.back, frequency = func.blocks[link.from].frequency || 1;
      const startX = from.x + link.port * Math.min(from.w * .5, 90);
      const seen = ports.get(link.to) || 0;
      ports.set(link.to, seen + 1);
      const endX = to.x + (seen ? Math.ceil(seen / 2) * 14 * (seen % 2 ? 1 : -1) : 0);
      let points;
      const side = link.side;
      if (link.self) points = [[startX, from.bottom], [startX, from.bottom + 14], [side, from.bottom + 14], [side, to.y - 16], [endX, to.y - 16], [endX, to.y]];
      else if (link.back && !link.points.length) points = [[startX, from.bottom], [startX, from.bottom + 14], [side, from.bottom + 14], [side, to.y - 16], [endX, to.y - 16], [endX, to.y]];
      else if (link.back) {
        const inner = link.points.flatMap(p => [[p.x, p.y + p.height], [p.x, p.y]]);
        points = [[startX, from.bottom], [startX, from.bottom + 14], [inner[0][0], from.bottom + 14], ...inner, [inner[inner.length - 1][0], to.y - 16], [endX, to.y - 16], [endX, to.y]];
      } else points = [[startX, from.bottom], ...link.points.flatMap(p => [[p.x, p.y], [p.x, p.y + p.height]]), [endX, to.y]];
      let d = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
      for (let i = 1; i < points.length; i++) {
        const [x0, y0] = points[i - 1], [x1, y1] = points[i], mid = (y0 + y1) / 2;
        d += Math.abs(x0 - x1) < .5 ? `L${x1.toFixed(1)} ${y1.toFixed(1)}` : `C${x0.toFixed(1)} ${mid.toFixed(1)} ${x1.toFixed(1)} ${mid.toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
      }
      const width = 1 + Math.min(3, Math.log10(Math.max(1, frequency)));
      make("path", { d, "stroke-width": width.toFixed(2) }, isBack ? "edge back" : "edge", lines);
      make("path", { d: `M${endX} ${to.y}l-4.5 -8h9z` }, isBack ? "arrow back" : "arrow", lines);
      if (edge[1]) {
        const label = make("text", { x: startX + 5, y: from.bottom + 13 }, isBack ? "when back" : "when", lines);
        label.textContent = edge[1];
      }
    }
    nodeElements = nodes.map((node, index) => {
      const item = layout.items[index], x = item.x - item.w / 2;
      const g = make("g", { transform: `translate(${x.toFixed(1)} ${item.y.toFixed(1)})`, "data-block": index },
        `node d${Math.min(4, node.block.depth)}${node.block.cold ? " cold" : ""}`, world);
      make("rect", { width: node.w.toFixed(1), height: node.h, rx: 6 }, "", g);
      spans(node.title, make("text", { x: 8, y: 16 }, "title", g), "tspan");
      const times = make("text", { x: node.w - 8, y: 16, "text-anchor": "end" }, "times", g);
      times.textContent = `${node.block.header === index ? "⟲ " : ""}×${node.block.times}`.replace("×unreachable", "unreachable");
      node.texts.forEach((text, k) => spans(text, make("text", { x: 14, y: 33 + k * 15 }, text.startsWith("…") ? "more" : "", g), "tspan"));
      return g;
    });
    svg.append(world);
    $("graph").replaceChildren(svg);
    fitGraph();
  }
  function placeGraph() {
    const world = $("graph").querySelector("g");
    if (world) world.setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.k})`);
  }
  function fitGraph() {
    const { clientWidth: w, clientHeight: h } = $("graph");
    if (!layout || !w) return;
    const k = Math.min(1.15, (w - 24) / layout.width, (h - 24) / layout.height);
    // Large graphs start at the entry, because text that small would be unreadable.
    camera.k = Math.max(k, Math.min(.72, (w - 24) / Math.max(layout.items[0] ? layout.items[0].w : 1, 1)));
    const fits = camera.k === k;
    camera.x = fits ? (w - layout.width * camera.k) / 2 : w / 2 - layout.items[0].x * camera.k;
    camera.y = fits ? Math.max(12, (h - layout.height * camera.k) / 2) : 12;
    placeGraph();
  }
  function zoom(by, x = $("graph").clientWidth / 2, y = $("graph").clientHeight / 2) {
    const k = Math.max(.03, Math.min(3, camera.k * by)), ratio = k / camera.k;
    camera = { k, x: x - (x - camera.x) * ratio, y: y - (y - camera.y) * ratio };
    placeGraph();
  }
  function currentBlock() {
    const block = blockAt(Math.floor($("rows").scrollTop / ROW + 2));
    if (block === state.block) return;
    if (nodeElements[state.block]) nodeElements[state.block].classList.remove("current");
    state.block = block;
    if (nodeElements[block]) nodeElements[block].classList.add("current");
  }
  function showBlock(index) {
    const head = heads.find(([, block]) => block === index);
    if (head) $("rows").scrollTop = head[0] * ROW;
  }

  // ---- highlighting

  function light() {
    const key = hot();
    for (const e of document.querySelectorAll("[data-v].hot")) if (e.dataset.v !== key) e.classList.remove("hot");
    if (key) for (const e of document.querySelectorAll(`[data-v="${CSS.escape(key)}"]`)) e.classList.add("hot");
    chart.draw();
  }
  function hover(key) {
    if (key === state.hovered) return;
    state.hovered = key;
    light();
  }
  function describe(key) {
    const vregs = func.vregs.map((vreg, index) => [vreg, index]).filter(([vreg]) => vreg[0].split(".")[0] === key);
    if (!vregs.length) return `${key}: in no register of its own`;
    return vregs.map(([vreg, index]) => {
      const places = [...new Set(solution.ranges.filter(range => range[0] === index).map(range => solution.columns[range[1]][0]))];
      return `${vreg[0]}: ${vreg[1].replace(/(\d+)$/, "register of $1 bytes")}\n${places.length ? "in " + places.join(", ") : "nowhere: computed where it is needed"}`;
    }).join("\n");
  }
  function tip(event, text) {
    const e = $("tip");
    e.hidden = !text;
    if (!text) return;
    e.textContent = text;
    e.style.left = Math.min(event.clientX + 14, window.innerWidth - e.offsetWidth - 8) + "px";
    e.style.top = Math.min(event.clientY + 16, window.innerHeight - e.offsetHeight - 8) + "px";
  }
  document.addEventListener("pointerover", event => {
    const e = event.target.closest("[data-v]");
    if (e) { hover(e.dataset.v); tip(event, describe(e.dataset.v)); }
    else if (!event.target.closest("#chart")) { hover(null); tip(event, ""); }
  });
  document.addEventListener("click", event => {
    const e = event.target.closest("[data-v]");
    if (e) pin(e.dataset.v);
  });
  function pin(key) {
    state.pinned = state.pinned === key ? null : key;
    light();
    hash();
  }
  chart.pane.addEventListener("pointermove", event => {
    const { range, edit } = chart.at(event);
    const key = range ? keyOf(range[0]) : edit && edit[7].length && edit[7][0][0] >= 0 ? keyOf(edit[7][0][0]) : null;
    hover(key);
    let text = "";
    if (range) text = `${nameOf(range[0])} in ${solution.columns[range[1]][0]}\n${describe(key)}`;
    if (edit) text = `${edit[2]}: ${edit[3]}` + (text && "\n" + text);
    tip(event, text);
  });
  chart.pane.addEventListener("pointerleave", event => { hover(null); tip(event, ""); });
  chart.pane.addEventListener("click", event => {
    const { range } = chart.at(event);
    if (range) pin(keyOf(range[0])); else { state.pinned = null; light(); hash(); }
  });

  // ---- synchronized scrolling

  let drawing = 0;
  const redraw = () => { drawing ||= requestAnimationFrame(() => { drawing = 0; chart.draw(); }); };
  $("rows").addEventListener("scroll", () => {
    if (chart.pane.scrollTop !== $("rows").scrollTop) chart.pane.scrollTop = $("rows").scrollTop;
    $("titles").scrollLeft = $("rows").scrollLeft;
    currentBlock();
    redraw();
  }, { passive: true });
  chart.pane.addEventListener("scroll", () => {
    if ($("rows").scrollTop !== chart.pane.scrollTop) $("rows").scrollTop = chart.pane.scrollTop;
    redraw();
  }, { passive: true });

  let drag = null;
  $("graph").addEventListener("pointerdown", event => { drag = { x: event.clientX - camera.x, y: event.clientY - camera.y, moved: 0 }; });
  window.addEventListener("pointermove", event => {
    if (!drag) return;
    drag.moved += Math.abs(event.movementX) + Math.abs(event.movementY);
    camera.x = event.clientX - drag.x;
    camera.y = event.clientY - drag.y;
    placeGraph();
  });
  window.addEventListener("pointerup", event => {
    const node = drag && drag.moved < 4 && event.target.closest && event.target.closest(".node");
    drag = null;
    if (node && !event.target.closest("[data-v]")) showBlock(Number(node.dataset.block));
  });
  $("graph").addEventListener("wheel", event => {
    event.preventDefault();
    const box = $("graph").getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * .0016), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  // ---- files and paper

  function files() {
    const name = `${func.name.replace(/\W/g, "")}-${solution.allocator}`;
    const link = (file, what, type, text) => {
      const e = element("a", "", `${file}: ${what}`);
      e.download = file;
      e.href = `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
      return e;
    };
    $("files-list").replaceChildren(
      link(`${name}.svg`, "live ranges", "image/svg+xml", exporting.svg(func, solution, 0, solution.rows.length, chart.lightColor)),
      link(`${name}.csv`, "decisions", "text/csv", exporting.csv(func, solution)));
    $("files").showModal();
  }
  // Printed pages have the graph, and the listing with all live ranges in pieces of 45 rows.
  function paper() {
    const graph = element("div", "canvas"), drawn = $("graph").firstElementChild.cloneNode(true);
    drawn.querySelector("g").removeAttribute("transform");
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height })) drawn.setAttribute(key, value);
    graph.append(drawn);
    const parts = [element("h2", "", "Control flow"), graph, element("h2", "", "Live ranges")];
    for (let row = 0; row < solution.rows.length; row += 45) {
      const piece = document.createElement("template");
      piece.innerHTML = exporting.svg(func, solution, row, Math.min(row + 45, solution.rows.length), chart.lightColor);
      parts.push(piece.content);
    }
    $("print").replaceChildren(...parts);
  }
  window.addEventListener("beforeprint", paper);
  window.addEventListener("afterprint", () => $("print").replaceChildren());
  $("save").onclick = files;
  $("paper").onclick = () => setTimeout(() => window.print());

  // ---- buttons and keys

  function theme() {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme || (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    chart.readPalette();
    chart.draw();
  }
  const PANES = [["code", "code"], ["graph", "graph"], ["decisions", "decisions"]];
  function pane(name) {
    document.body.dataset.pane = name;
    $("tabs").replaceChildren(...PANES.map(([key, text]) => {
      const e = element("button", "", text);
      e.setAttribute("aria-pressed", String(key === name));
      e.onclick = () => pane(key);
      return e;
    }));
    if (name === "graph") fitGraph();
    listing.render();
    decisions.render();
    chart.draw();
  }
  $("theme").onclick = theme;
  $("zoom-in").onclick = () => zoom(1.25);
  $("zoom-out").onclick = () => zoom(.8);
  $("zoom-fit").onclick = fitGraph;
  $("first").onclick = () => setStep(solution.decisions.length ? 0 : -1);
  $("last").onclick = () => setStep(solution.decisions.length - 1);
  $("next").onclick = () => move(1);
  $("prev").onclick = () => move(-1);
  $("all").onclick = () => { state.pinned = null; setStep(-1); };
  $("slider").oninput = () => setStep(Number($("slider").value));
  $("function").onchange = event => { Object.assign(state, { f: event.target.selectedIndex, a: 0, step: -1, pinned: null }); load(); hash(); };

  const KEYS = [
    ["← →", "previous, next decision", { ArrowLeft: () => move(-1), ArrowRight: () => move(1) }],
    ["Home End", "first, last decision", { Home: () => $("first").click(), End: () => $("last").click() }],
    ["↑ ↓  PgUp PgDn", "scroll the code", {
      ArrowUp: () => { $("rows").scrollTop -= 2 * ROW; }, ArrowDown: () => { $("rows").scrollTop += 2 * ROW; },
      PageUp: () => { $("rows").scrollTop -= $("rows").clientHeight - ROW; }, PageDown: () => { $("rows").scrollTop += $("rows").clientHeight - ROW; } }],
    ["b  B", "next, previous block", { b: () => nextBlock(1), B: () => nextBlock(-1) }],
    ["1 … 9", "allocator", {}],
    ["c", "all allocators side by side", { c: () => func.solutions.length > 1 && choose(state.a, !state.compare) }],
    ["+ − 0", "larger, smaller, whole graph", { "+": () => zoom(1.25), "-": () => zoom(.8), 0: fitGraph }],
    ["g", "room for the code, or the graph again", { g: () => document.body.classList.toggle("wide") }],
    ["f", "function", { f: () => $("function").focus() }],
    ["s", "save or print", { s: files }],
    ["t", "light or dark", { t: theme }],
    ["Esc", "all decisions, no value", { Escape: () => $("all").click() }],
    ["?", "these keys", { "?": () => $("keys").showModal() }],
  ];
  function nextBlock(by) {
    const at = Math.floor($("rows").scrollTop / ROW);
    const list = by > 0 ? heads : [...heads].reverse();
    const head = list.find(([row]) => by > 0 ? row > at : row < at);
    if (head) $("rows").scrollTop = head[0] * ROW;
  }
  $("key-table").replaceChildren(...KEYS.map(([keys, what]) => {
    const tr = element("tr"), td = element("td");
    for (const key of keys.split(/\s+/)) td.append(element("kbd", "", key), " ");
    tr.append(td, element("td", "", what));
    return tr;
  }));
  $("help").onclick = () => $("keys").showModal();
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select") || $("keys").open || $("files").open) return;
    if (event.target.matches("input") && event.key.startsWith("Arrow")) return;
    const act = KEYS.map(([, , keys]) => keys[event.key]).find(Boolean);
    const index = Number(event.key) - 1;
    if (act) act(); else if (index >= 0 && index < func.solutions.length) choose(index, false); else return;
    event.preventDefault();
  });

  // ---- the address contains the state of the page, so that it can be shared

  function hash() {
    const words = [];
    if (state.f) words.push(`function=${encodeURIComponent(func.name)}`);
    if (state.compare) words.push("compare"); else if (state.a) words.push(`allocator=${solution.allocator}`);
    if (state.step >= 0) words.push(`decision=${state.step + 1}`);
    else if (state.pinned) words.push(`value=${state.pinned}`);
    try { history.replaceState(null, "", "#" + words.join("&")); } catch { /* some browsers refuse it for files */ }
  }
  function fromHash() {
    for (const word of location.hash.slice(1).split("&")) {
      const [key, value] = word.split("=").map(decodeURIComponent);
      if (key === "function") state.f = Math.max(0, data.functions.findIndex(f => f.name === value));
      if (key === "allocator") state.a = Math.max(0, data.functions[state.f].solutions.findIndex(s => s.allocator === value));
      if (key === "compare") state.compare = data.functions[state.f].solutions.length > 1;
      if (key === "decision") state.step = Number(value) - 1;
      if (key === "value") state.pinned = value;
      if (key === "theme") document.documentElement.dataset.theme = value;
      if (key === "wide") document.body.classList.add("wide");
      if (key === "pane") document.body.dataset.pane = value;
    }
  }

  $("function").replaceChildren(...data.functions.map(f => element("option", "", f.name)));
  const isMeasured = location.hash.includes("measure"), isSaved = location.hash.includes("save");
  fromHash();
  $("function").selectedIndex = state.f;
  const pinned = state.pinned;
  load();
  pane(document.body.dataset.pane || "code");
  if (pinned && state.step < 0) { state.pinned = pinned; light(); }
  currentBlock();
  if (isSaved) { files(); paper(); }
  new ResizeObserver(() => {
    if (!state.compare && paneWidth !== $("code-pane").clientWidth) load();
    sideways();
    listing.render();
    decisions.render();
    chart.draw();
  }).observe($("code-pane"));
  window.addEventListener("resize", fitGraph);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { chart.readPalette(); chart.draw(); });

  // Milliseconds to show another part of the listing.
  function scrollCost() {
    const times = [];
    for (let i = 0; i < 40; i++) {
      const start = performance.now();
      $("rows").scrollTop = (i * 7919 * ROW) % Math.max(1, rows.length * ROW - 500);
      chart.pane.scrollTop = $("rows").scrollTop;
      listing.render();
      chart.draw();
      times.push(performance.now() - start);
    }
    $("rows").scrollTop = 0;
    times.sort((a, b) => a - b);
    return times[20].toFixed(1);
  }
  if (isMeasured) document.body.dataset.scroll = scrollCost();
  const cells = [...document.querySelectorAll(".row:not(.block) > span")];
  document.body.dataset.clipped = cells.filter(cell => cell.scrollWidth > cell.clientWidth).length;
  document.body.dataset.ready = performance.now().toFixed(0);
})();
