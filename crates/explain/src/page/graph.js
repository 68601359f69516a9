"use strict";
// A layered drawing of a control-flow graph (Sugiyama, Tagawa and Toda 1981): ranks by longest paths, long edges through
// separate points, crossings reduced by medians, then all nodes moved toward the mean of their neighbors.
const graphLayout = (() => {
  const GAP_X = 22, GAP_Y = 44, LONGEST = 60;

  // Edges against the direction of a depth-first walk are reversed for ranking.
  function walk(nodes) {
    const state = new Uint8Array(nodes.length), order = [], turned = new Set();
    for (let root = 0; root < nodes.length; root++) {
      if (state[root]) continue;
      const stack = [[root, 0]];
      state[root] = 1;
      while (stack.length) {
        const top = stack[stack.length - 1], edges = nodes[top[0]].edges;
        if (top[1] < edges.length) {
          const k = edges.length - 1 - top[1]++, to = edges[k][0];
          if (state[to] === 1) turned.add(top[0] + ":" + k);
          else if (state[to] === 0) { state[to] = 1; stack.push([to, 0]); }
        } else {
          state[top[0]] = 2;
          order.push(top[0]);
          stack.pop();
        }
      }
    }
    return { order: order.reverse(), turned };
  }

  return function (nodes) {
    const { order, turned } = walk(nodes);
    const rank = new Int32Array(nodes.length);
    const forward = nodes.map(() => []);
    const links = [];
    nodes.forEach((node, from) => node.edges.forEach((edge, k) => {
      const back = turned.has(from + ":" + k), self = edge[0] === from;
      const link = { from, to: edge[0], k, back, self, points: [] };
      links.push(link);
      if (!self) forward[back ? edge[0] : from].push(back ? from : edge[0]);
    }));
    for (const node of order) for (const to of forward[node]) rank[to] = Math.max(rank[to], rank[node] + 1);
    const ranks = [];
    const items = nodes.map((node, index) => ({ w: node.w, h: node.h, x: 0, up: [], down: [], node: index, rank: rank[index] }));
    for (const index of order) (ranks[rank[index]] ||= []).push(items[index]);
    for (let r = 0; r < ranks.length; r++) ranks[r] ||= [];
    for (const link of links) {
      if (link.self) continue;
      let [top, bottom] = link.back ? [link.to, link.from] : [link.from, link.to];
      top = items[top]; bottom = items[bottom];
      const span = bottom.rank - top.rank;
      let last = top;
      if (span <= LONGEST) {
        for (let r = top.rank + 1; r < bottom.rank; r++) {
          const point = { w: 12, h: 0, x: 0, up: [last], down: [], node: -1, rank: r };
          last.down.push(point);
          ranks[r].push(point);
          link.points.push(point);
          last = point;
        }
      }
      last.down.push(bottom);
      bottom.up.push(last);
      if (link.back) link.points.reverse();
    }
    const place = () => ranks.forEach(row => row.forEach((item, k) => { item.place = k; }));
    place();
    const total = ranks.reduce((sum, row) => sum + row.length, 0), sweeps = total > 6000 ? 2 : total > 1500 ? 6 : 14;
    const median = list => {
      if (!list.length) return -1;
      const places = list.map(item => item.place).sort((a, b) => a - b), mid = places.length >> 1;
      return places.length % 2 ? places[mid] : (places[mid - 1] + places[mid]) / 2;
    };
    for (let sweep = 0; sweep < sweeps; sweep++) {
      const down = sweep % 2 === 0;
      for (let i = 1; i < ranks.length; i++) {
        const row = ranks[down ? i : ranks.length - 1 - i];
        for (const item of row) {
          const m = median(down ? item.up : item.down);
          item.key = m < 0 ? item.place : m;
        }
        row.sort((a, b) => a.key - b.key || a.place - b.place);
        row.forEach((item, k) => { item.place = k; });
      }
    }
    for (const row of ranks) {
      let x = 0;
      for (const item of row) { item.x = x + item.w / 2; x += item.w + GAP_X; }
    }
    const settle = row => {
      for (let k = 1; k < row.length; k++) {
        const least = row[k - 1].x + (row[k - 1].w + row[k].w) / 2 + GAP_X;
        if (row[k].x < least) row[k].x = least;
      }
    };
    const passes = total > 6000 ? 3 : 24;
    for (let pass = 0; pass < passes; pass++) {
      const down = pass % 2 === 0;
      for (let i = 0; i < ranks.length; i++) {
        const row = ranks[down ? i : ranks.length - 1 - i];
        if (!row.length) continue;
        const wanted = row.map(item => {
          const near = pass >= passes - 4 ? item.up.concat(item.down) : down ? item.up : item.down;
          return near.length ? near.reduce((sum, other) => sum + other.x, 0) / near.length : item.x;
        });
        row.forEach((item, k) => { item.x = wanted[k]; });
        settle(row);
        // Nodes that were pushed right on average are moved back left as a whole.
        const shift = row.reduce((sum, item, k) => sum + wanted[k] - item.x, 0) / row.length;
        row.forEach(item => { item.x += shift; });
      }
    }
    let y = 0;
    for (const row of ranks) {
      const height = row.reduce((most, item) => Math.max(most, item.h), 0);
      for (const item of row) { item.y = y; item.bottom = y + (item.node < 0 ? height : item.h); item.height = height; }
      y += height + GAP_Y;
    }
    const left = Math.min(0, ...ranks.map(row => row.length ? Math.min(...row.map(item => item.x - item.w / 2)) : 0));
    let right = 0;
    for (const row of ranks) for (const item of row) { item.x -= left; right = Math.max(right, item.x + item.w / 2); }
    // Edges leave a node in the order of their destinations; back edges are on the outside.
    const leaving = nodes.map(() => []);
    for (const link of links) {
      const next = link.points[0] || items[link.to];
      link.side = Math.max(items[link.from].x + items[link.from].w / 2, items[link.to].x + items[link.to].w / 2) + 22;
      if (link.self || link.back) right = Math.max(right, link.side);
      leaving[link.from].push([link.self || (link.back && !link.points.length) ? Infinity : next.x, link]);
    }
    for (const list of leaving) {
      list.sort((a, b) => a[0] - b[0] || a[1].k - b[1].k);
      list.forEach(([, link], port) => { link.port = list.length > 1 ? port / (list.length - 1) - .5 : 0; });
    }
    return { items, links, width: right, height: Math.max(0, y - GAP_Y) + 16 };
  };
})();
