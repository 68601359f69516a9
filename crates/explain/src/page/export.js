"use strict";
// Parts of the page for other programs and for paper: decisions as CSV, live ranges as SVG. Colors are those of the light theme.
const exporting = (() => {
  const COLUMN = 34, BAR = 22, ROW = 20, TEXT = 330, HEAD = 26;
  const COLORS = { spill: "#c2410c", fill: "#1d63c9", move: "#6d5bb5", exchange: "#b0187f", "slot move": "#0f766e", remat: "#17803d" };
  const escaped = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
  const quoted = field => /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : String(field);

  // One row for each decision. Instructions are numbers of the machine code before allocation; `to` is exclusive.
  function csv(func, solution) {
    const name = vreg => vreg < 0 ? "" : func.vregs[vreg][0];
    const lines = [["number", "kind", "decision", "value", "other", "location", "from", "to"]];
    let number = 0;
    for (const [kind, text, a, b, column, from, to] of solution.decisions) {
      if (kind === "stage") continue;
      lines.push([++number, kind, text, name(a), name(b), column < 0 ? "" : solution.columns[column][0], from < 0 ? "" : from, to < 0 ? "" : to]);
    }
    return lines.map(line => line.map(quoted).join(",")).join("\n") + "\n";
  }

  // The rows `first` up to `last`, exclusive: the code, then registers and slots.
  function svg(func, solution, first, last, barColor) {
    const width = TEXT + solution.columns.length * COLUMN + 8, height = HEAD + (last - first) * ROW + 6, parts = [];
    const text = (x, y, what, more = "") => parts.push(`<text x="${x}" y="${y}"${more}>${escaped(what)}</text>`);
    const y = half => HEAD + (half / 2 - first) * ROW, x = column => TEXT + column * COLUMN + COLUMN / 2;
    solution.rows.slice(first, last).forEach((row, index) => {
      const top = HEAD + index * ROW;
      if (row[0] === "block") parts.push(`<rect x="0" y="${top}" width="${width}" height="${ROW}" fill="#f2f3f5"/>`);
      const line = row[1] >= 0 ? func.lines[row[1]][1] : "";
      const what = row[0] === "block" ? line || func.machineBlocks[row[2]] + ":" : row[3] || (row[0] === "line" || row[0] === "elided" ? line : "");
      const color = row[0] === "edit" ? COLORS[row[2]] : row[3] || row[0] === "block" ? "#22252b" : "#8a909b";
      text(row[0] === "block" ? 6 : 22, top + 14, what.length > 48 ? what.slice(0, 47) + "…" : what, ` fill="${color}"${row[0] === "block" ? ' font-weight="bold"' : ""}`);
    });
    solution.columns.forEach(([name], column) => {
      parts.push(`<path d="M${x(column)} ${HEAD}V${height}" stroke="#e3e3df"/>`);
      text(x(column), 17, name, ' text-anchor="middle"');
    });
    for (const [vreg, column, from, to] of solution.ranges) {
      const top = Math.max(from, 2 * first), bottom = Math.min(to, 2 * last), name = func.vregs[vreg][0];
      if (column < 0 || top >= bottom) continue;
      const isSlot = solution.columns[column][1];
      parts.push(`<rect x="${x(column) - BAR / 2}" y="${y(top) + 1}" width="${BAR}" height="${y(bottom) - y(top) - 2}" rx="4" fill="${barColor(name.split(".")[0])}"${isSlot ? ' fill-opacity=".45" stroke="#8a909b" stroke-dasharray="3 2"' : ""}/>`);
      if (bottom - top > 1) text(x(column), y(top) + 13, name.length > 6 ? name.slice(0, 5) + "…" : name, ' text-anchor="middle" font-size="9"');
    }
    solution.rows.slice(first, last).forEach((row, index) => {
      if (row[0] !== "edit") return;
      const at = HEAD + index * ROW + ROW / 2, color = COLORS[row[2]] || COLORS.move;
      for (const [, from, to] of row[7]) {
        if (from < 0) { parts.push(`<circle cx="${x(to)}" cy="${at}" r="5" fill="${color}"/>`); continue; }
        const way = Math.sign(x(to) - x(from)) || 1;
        parts.push(`<path d="M${x(from)} ${at}H${x(to) - way * 7}" stroke="${color}" stroke-width="2"/>`,
          `<path d="M${x(to)} ${at}l${-way * 8} -4.5v9z" fill="${color}"/>`);
      }
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11"><rect width="${width}" height="${height}" fill="#fff"/>${parts.join("")}</svg>\n`;
  }

  return { csv, svg };
})();
