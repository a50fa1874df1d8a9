// The timeline: rows of pipeline ranks on a canvas, decimated where items are narrower than pixels.

const PS = 1e12;

// Classes of items, which have one colour each: [colour, letter, words]. The first six are the kinds of computations.
const CLASSES = [
  ["forward", "F", "forward"], ["input-grad", "I", "input gradient"], ["weight-grad", "W", "weight gradient"], ["backward", "B", "backward"],
  ["recompute", "R", "recomputation"], ["optimizer", "O", "optimizer"], ["wait", "", "exposed communication"],
  ["wait-foreign", "", "exposed to other ranks' communication"], ["bubble", "", "bubble, warm-up and cool-down"], ["steady", "", "bubble, steady"],
  ["imbalance", "", "imbalance"], ["host", "", "other"], ["unknown", "", "cause not in the trace"],
];
const WAIT = 6, FOREIGN_WAIT = 7, BUBBLE = 8, STEADY = 9, IMBALANCE = 10, HOST = 11, UNKNOWN = 12;

// Class of an item, as an index of CLASSES, by its code and marks.
function classOf(code, marks) {
  if (code < DATA.idle_code) {
    return Math.min(code, WAIT);
  }
  const category = DATA.categories[code - DATA.idle_code];
  if (category === undefined) {
    return UNKNOWN;
  }
  if (category.startsWith("bubble_")) {
    return category === "bubble_steady" ? STEADY : BUBBLE;
  }
  if (category.startsWith("exposed_")) {
    return marks & FOREIGN ? FOREIGN_WAIT : WAIT;
  }
  return category === "imbalance" ? IMBALANCE : HOST;
}

// Colours of CLASSES as [r, g, b], and paler ones for items that are switched off or not found.
function classColours() {
  const paper = rgb(colour("paper"));
  const full = CLASSES.map(([name]) => (name === "wait-foreign" ? mix(rgb(colour("wait")), paper, 0.45) : rgb(colour(name))));
  return { full, pale: full.map((one) => mix(one, paper, 0.22)), paper };
}

const FINE = 4, REACH = 8; // pixels: items narrower than this are averaged, over so many pixels to either side; the ends of the run from 1 pixel on stay sharp

// Add to shares those of narrow items, their mix averaged over `reach` columns to either side: passes as wide as pixels would make a pattern with
// them. How much of a column they take together stays. shares, fine: [columns][2 * classes].
function addSmoothed(shares, fine, columns, reach) {
  const kinds = fine.length / columns;
  const taken = new Float32Array(columns);
  fine.forEach((share, i) => (taken[Math.floor(i / kinds)] += share));
  const sums = new Float64Array(kinds); // of the columns c - reach to c + reach
  const add = (c, sign) => {
    for (let kind = 0; kind < kinds && c >= 0 && c < columns; kind++) {
      sums[kind] += sign * fine[c * kinds + kind];
    }
  };
  for (let c = -reach; c < columns; c++) {
    add(c + reach, 1);
    add(c - reach - 1, -1);
    const all = sums.reduce((sum, share) => sum + share, 0);
    for (let kind = 0; kind < kinds && c >= 0 && taken[c] > 0; kind++) {
      shares[c * kinds + kind] += (taken[c] * Math.max(0, sums[kind])) / all;
    }
  }
}

// The canvas of the timeline: its view (a range of time), what it draws, the selected item and the search.
class Timeline {
  constructor(canvas, items, path) {
    this.canvas = canvas;
    this.items = items;
    this.path = path;
    this.rows = DATA.rows;
    this.end = this.most = DATA.end_ps; // of the run; of the time axis, which may show a longer run, too
    this.linked = []; // timelines of other runs, which show the same time
    this.view = { from: 0, to: this.end };
    this.row = Math.max(0, this.rows.findIndex((row) => row.rank === at("/summary/memory/peak_rank")));
    this.item = -1;
    this.isOn = CLASSES.map(() => true);
    this.hasPath = false;
    this.matches = null; // of a search: 1 for each item that it finds
    this.found = [];
    this.redraws = [];
    this.lanes = [];
    this.classes = new Uint8Array(items.count);
    this.tops = []; // items of each row that are not inside others, and those that are
    this.parts = [];
    for (let r = 0; r < this.rows.length; r++) {
      const [tops, parts] = [[], []];
      for (let i = items.first[r]; i < items.first[r + 1]; i++) {
        this.classes[i] = classOf(items.code[i], items.marks[i]);
        (items.marks[i] & PART ? parts : tops).push(i);
      }
      this.tops.push(Uint32Array.from(tops));
      this.parts.push(Uint32Array.from(parts));
    }
    this.rowOfPp = new Map(this.rows.map((row, r) => [row.pp, r]));
    this.readColours();
  }

  // Read the colours of the page, which depend on its colour scheme.
  readColours() {
    this.colours = classColours();
    this.ink = colour("ink");
    this.line = colour("line");
    this.soft = colour("soft");
    this.mark = colour("mark");
    this.paper = colour("paper");
  }

  // Lay out in CSS pixels: the plot beside the labels, the axis, then the lanes.
  layout() {
    const count = this.rows.length;
    this.width = Math.max(240, this.canvas.parentElement.clientWidth - 2);
    this.left = this.width < 600 ? 60 : 74; // room for "170 GB/s"
    this.plot = this.width - this.left - 6;
    this.rowHeight = count <= 12 ? 30 : count <= 24 ? 20 : count <= 40 ? 13 : count <= 80 ? 9 : Math.max(2, Math.floor(700 / count));
    this.barHeight = this.rowHeight - (this.rowHeight > 10 ? 1 : 0); // of shares: low rows touch each other
    this.top = 4;
    this.bottom = this.top + count * this.rowHeight;
    this.laneTop = this.bottom + 26;
    this.laneHeight = this.width < 600 ? 74 : 96;
    this.height = this.laneTop + this.lanes.length * (this.laneHeight + 22);
    const scale = Math.min(2, window.devicePixelRatio || 1);
    if (this.canvas.width !== Math.round(this.width * scale) || this.canvas.height !== Math.round(this.height * scale)) {
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(this.height * scale);
      this.canvas.style.height = `${this.height}px`;
    }
    this.scale = scale;
  }

  // Horizontal pixel of a time.
  x(time) {
    return this.left + ((time - this.view.from) / (this.view.to - this.view.from)) * this.plot;
  }

  // Time at a horizontal pixel.
  timeAt(x) {
    return this.view.from + ((x - this.left) / this.plot) * (this.view.to - this.view.from);
  }

  // Indices in a list of items, sorted by start, of the first one that may reach into the times from .. to, and behind the last.
  range(list, from, to) {
    const search = (time) => {
      let low = 0;
      for (let high = list.length; low < high; ) {
        const middle = (low + high) >> 1;
        if (this.items.start[list[middle]] < time) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    };
    return [Math.max(0, search(from) - 2), search(to)]; // two passes of a rank may run together
  }

  // Whether an item is drawn in full colour: its class is on, and the search, if any, has found it.
  isLit(i) {
    return this.isOn[this.classes[i]] && (this.matches === null || this.matches[i] === 1);
  }

  // Draw all again.
  draw() {
    const begin = performance.now();
    this.layout();
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.fillStyle = this.paper;
    pen.fillRect(0, 0, this.width, this.height);
    pen.font = "11px system-ui, sans-serif";
    this.drawRows(pen);
    if (this.hasPath) {
      this.drawPath(pen);
    }
    this.drawLabels(pen);
    this.drawAxis(pen);
    this.lanes.forEach((lane, i) => lane.draw(this, pen, this.laneTop + 18 + i * (this.laneHeight + 22)));
    this.drawSelected(pen);
    this.redraws.push(performance.now() - begin);
  }

  // Draw the items of all rows; where those in view are narrower than 3 pixels on average, their shares.
  drawRows(pen) {
    for (let r = 0; r < this.rows.length; r++) {
      const [first, end] = this.range(this.tops[r], this.view.from, this.view.to);
      if (end - first > this.plot / 3) {
        this.drawShares(pen, r, first, end);
      } else {
        this.drawItems(pen, r, this.tops[r], first, end);
        const [partFirst, partEnd] = this.range(this.parts[r], this.view.from, this.view.to);
        if (partEnd - partFirst <= this.plot) {
          this.drawItems(pen, r, this.parts[r], partFirst, partEnd);
        }
      }
    }
  }

  // In each column of pixels the colours are as high as their share of the time.
  drawShares(pen, r, first, end) {
    const columns = Math.round(this.plot * this.scale);
    const height = Math.max(1, Math.round(this.barHeight * this.scale));
    const kinds = CLASSES.length;
    const shares = new Float32Array(columns * kinds * 2);
    const fine = new Float32Array(columns * kinds * 2); // of items that are too narrow to see
    const perPixel = (this.view.to - this.view.from) / columns;
    for (let k = first; k < end; k++) {
      const i = this.tops[r][k];
      const from = Math.max(0, (this.items.start[i] - this.view.from) / perPixel);
      const to = Math.min(columns, (this.items.end[i] - this.view.from) / perPixel);
      const kind = this.classes[i] + (this.isLit(i) ? 0 : kinds);
      const sums = to - from < (this.classes[i] === BUBBLE ? 1 : FINE) * this.scale ? fine : shares;
      for (let c = Math.floor(from); c < to; c++) {
        sums[c * kinds * 2 + kind] += Math.min(c + 1, to) - Math.max(c, from);
      }
    }
    addSmoothed(shares, fine, columns, Math.round(REACH * this.scale));
    this.paintShares(pen, r, shares, columns, height);
  }

  // Paint the columns of a row: classes from the top down, those in full colour first. shares: [columns][2 * classes].
  paintShares(pen, r, shares, columns, height) {
    const kinds = 2 * CLASSES.length;
    const image = new ImageData(columns, height);
    const pixels = new Uint32Array(image.data.buffer);
    const word = (one) => ((255 << 24) | (one[2] << 16) | (one[1] << 8) | one[0]) >>> 0;
    const words = [...this.colours.full, ...this.colours.pale].map(word);
    const paper = word(this.colours.paper);
    for (let c = 0; c < columns; c++) {
      let sum = 0;
      let y = 0;
      for (let kind = 0; kind < kinds; kind++) {
        sum += shares[c * kinds + kind];
        for (const until = Math.min(height, Math.round(sum * height)); y < until; y++) {
          pixels[y * columns + c] = words[kind];
        }
      }
      for (; y < height; y++) {
        pixels[y * columns + c] = paper;
      }
    }
    pen.putImageData(image, Math.round(this.left * this.scale), Math.round((this.top + r * this.rowHeight) * this.scale));
  }

  // Rectangle of an item of row r: [x, y, width, height].
  box(r, i) {
    const from = Math.max(this.left, this.x(this.items.start[i]));
    const to = Math.min(this.left + this.plot, this.x(this.items.end[i]));
    const marks = this.items.marks[i];
    const full = this.rowHeight - (this.rowHeight > 4 ? 1 : 0);
    const isHalf = marks & (UPPER | LOWER);
    let y = this.top + r * this.rowHeight + (marks & LOWER ? full / 2 : 0);
    let height = isHalf ? full / 2 : full;
    if (marks & PART) {
      y += height * 0.72;
      height *= 0.28;
    }
    return [from, y, to - from, height];
  }

  // Draw the items list[first .. end) of row r, with their names where there is room.
  drawItems(pen, r, list, first, end) {
    for (let k = first; k < end; k++) {
      const i = list[k];
      const [x, y, width, height] = this.box(r, i);
      if (width <= 0) {
        continue;
      }
      const kind = this.classes[i];
      const isLit = this.isLit(i);
      const base = isLit ? this.colours.full[kind] : this.colours.pale[kind];
      const isPass = this.items.code[i] < DATA.idle_code;
      const shade = isPass && this.items.chunk[i] > 0 ? mix(base, this.colours.paper, 0.35 + 0.65 * 0.55 ** this.items.chunk[i]) : base;
      pen.fillStyle = css(shade);
      pen.fillRect(x, y, Math.max(width - (width > 4 && isPass ? 1 : 0), 0.5), height);
      if (isPass && isLit && !(this.items.marks[i] & PART) && height >= 11) {
        this.writeName(pen, i, shade, [x, y, width, height]);
      }
    }
  }

  // Write letter and microbatch of a pass into its box, in black or white.
  writeName(pen, i, shade, [x, y, width, height]) {
    const letter = CLASSES[this.classes[i]][1];
    const name = this.items.mb[i] >= 0 ? letter + this.items.mb[i] : letter;
    if (width >= 6.5 * name.length + 4) {
      const [black, white] = contrasts(shade);
      pen.fillStyle = black > white ? "#000" : "#fff";
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(name, x + width / 2, y + height / 2 + 0.5);
    }
  }

  // Draw the critical path as a line through the rows.
  drawPath(pen) {
    pen.strokeStyle = this.mark;
    pen.lineWidth = 2;
    pen.beginPath();
    let last = null;
    for (let k = 0; k < this.path.pp.length; k++) {
      const r = this.rowOfPp.get(this.path.pp[k]);
      if (r === undefined || this.path.end[k] < this.view.from || this.path.start[k] > this.view.to) {
        last = null;
        continue;
      }
      const y = this.top + (r + 0.5) * this.rowHeight;
      const [from, to] = [Math.max(this.left, this.x(this.path.start[k])), Math.min(this.left + this.plot, this.x(this.path.end[k]))];
      if (last !== null) {
        pen.lineTo(from, y);
      } else {
        pen.moveTo(from, y);
      }
      pen.lineTo(to, y);
      last = y;
    }
    pen.stroke();
  }

  // Write the labels of the rows, of low rows only some; the selected row is marked.
  drawLabels(pen) {
    pen.fillStyle = this.ink;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(13 / this.rowHeight));
    for (let r = 0; r < this.rows.length; r++) {
      if (r % every === 0 || r === this.row) {
        pen.font = r === this.row ? "bold 11px system-ui, sans-serif" : "11px system-ui, sans-serif";
        const isNear = r !== this.row && Math.abs(r - this.row) * this.rowHeight < 12;
        if (!isNear) {
          pen.fillText(this.rows[r].label, this.left - 8, this.top + (r + 0.5) * this.rowHeight);
        }
      }
    }
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = this.mark;
    pen.fillRect(this.left - 5, this.top + this.row * this.rowHeight, 3, Math.max(3, this.rowHeight - 1));
  }

  // Draw the time axis.
  drawAxis(pen) {
    const range = (this.view.to - this.view.from) / PS;
    const [name, factor] = SCALES.time.find((one) => range >= one[1] * 0.2) || SCALES.time[3];
    const step = tick(range / factor, this.plot / 90);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    pen.strokeStyle = this.line;
    pen.fillStyle = this.soft;
    pen.lineWidth = 1;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const first = Math.ceil(this.view.from / PS / factor / step);
    for (let n = first; n * step * factor * PS <= this.view.to; n++) {
      const x = Math.round(this.x(n * step * factor * PS)) + 0.5;
      pen.beginPath();
      pen.moveTo(x, this.bottom);
      pen.lineTo(x, this.bottom + 5);
      pen.stroke();
      if (x > this.left + 14 && x < this.left + this.plot - 24) {
        pen.fillText((n * step).toFixed(decimals), x, this.bottom + 7);
      }
    }
    pen.textAlign = "right";
    pen.fillText(name, this.left + this.plot, this.bottom + 7);
  }

  // Draw a frame around the selected item.
  drawSelected(pen) {
    if (this.item < 0) {
      return;
    }
    const [x, y, width, height] = this.box(this.items.row[this.item], this.item);
    if (width > 0) {
      pen.strokeStyle = this.mark;
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, Math.max(width, 2) + 2, height + 2);
    }
  }

  // ---- moving ----

  // Show a range of time, moved into the run and at least 0.1 microseconds long.
  show(from, to) {
    const least = Math.min(1e5, this.end); // 0.1 microseconds
    const length = Math.min(this.most, Math.max(least, to - from));
    const begin = Math.min(Math.max(0, from), this.most - length);
    for (const one of [this, ...this.linked]) {
      one.view = { from: begin, to: begin + length };
      one.draw();
    }
  }

  // Zoom by a factor around a time, or around the middle of the view.
  zoom(factor, around) {
    const { from, to } = this.view;
    const middle = around === undefined ? (from + to) / 2 : around;
    this.show(middle - (middle - from) / factor, middle + (to - middle) / factor);
  }

  // Move the view by a share of its length.
  pan(share) {
    const length = this.view.to - this.view.from;
    this.show(this.view.from + share * length, this.view.to + share * length);
  }

  // The item at a position, one inside a pass before the pass; -1: none.
  itemAt(x, y) {
    const r = Math.floor((y - this.top) / this.rowHeight);
    if (r < 0 || r >= this.rows.length || x < this.left) {
      return -1;
    }
    const time = this.timeAt(x);
    let best = -1;
    for (const list of [this.tops[r], this.parts[r]]) {
      const [first, end] = this.range(list, time, time + 1);
      for (let k = first; k < end; k++) {
        const i = list[k];
        const [, top, , height] = this.box(r, i);
        if (this.items.start[i] <= time && time <= this.items.end[i] && y >= top - 1 && y <= top + height + 1) {
          best = i;
        }
      }
    }
    return best;
  }

  // Go to an item and make it wide enough to see.
  select(i, isMoving) {
    this.item = i;
    this.row = this.items.row[i];
    const [start, end] = [this.items.start[i], this.items.end[i]];
    const length = this.view.to - this.view.from;
    const isInside = start >= this.view.from && end <= this.view.to && (end - start) / length > 4 / this.plot;
    if (isMoving && !isInside) {
      const wanted = Math.min(length, Math.max(40 * (end - start), length / 1e6));
      this.show((start + end - wanted) / 2, (start + end + wanted) / 2);
    } else {
      this.draw();
    }
  }

  // Select the next (by: 1) or previous (-1) item of the row.
  step(by) {
    const list = this.tops[this.row];
    if (!list || list.length === 0) {
      return;
    }
    let place = list.indexOf(this.item);
    if (place < 0) {
      place = this.range(list, (this.view.from + this.view.to) / 2, Infinity)[0];
    } else {
      place += by;
    }
    this.select(list[Math.min(list.length - 1, Math.max(0, place))], true);
  }

  // ---- searching ----

  // Find the items that match a text (readQuery), and draw them in full colour.
  search(text) {
    const test = readQuery(text, this);
    this.found = [];
    this.matches = null;
    if (test !== null) {
      this.matches = new Uint8Array(this.items.count);
      for (let i = 0; i < this.items.count; i++) {
        if (test(i)) {
          this.matches[i] = 1;
          this.found.push(i);
        }
      }
      this.found.sort((a, b) => this.items.start[a] - this.items.start[b]);
    }
    this.draw();
  }

  // Select the next (by: 1) or previous (-1) item that was found, by time.
  next(by) {
    if (this.found.length > 0) {
      const place = this.found.indexOf(this.item);
      const next = place < 0 ? (by > 0 ? 0 : this.found.length - 1) : (place + by + this.found.length) % this.found.length;
      this.select(this.found[next], true);
    }
  }

  // An item in words.
  describe(i) {
    const items = this.items;
    const row = this.rows[items.row[i]];
    const who = `${row.label}, rank ${row.rank}${row.multiplicity > 1 ? ` (stands for ${row.multiplicity})` : ""}`;
    const when = `from ${format(items.start[i] / PS, "time")}, for ${format((items.end[i] - items.start[i]) / PS, "time")}`;
    if (items.code[i] < DATA.idle_code) {
      const work = items.mb[i] >= 0 ? ` of microbatch ${items.mb[i]}, chunk ${items.chunk[i]},` : "";
      const waited = items.waited[i] > 0 ? `; of it ${format(items.waited[i] / PS, "time")} waiting inside` : "";
      const slack = items.slack[i] < 0 ? "" : items.slack[i] === 0 ? "; on the critical path" : `; slack up to ${format(items.slack[i] / PS, "time")}`;
      return `${DATA.kinds[items.code[i]]}${work} on ${who}, ${when}${waited}${slack}`;
    }
    const category = DATA.categories[items.code[i] - DATA.idle_code] || "idle, cause not in the trace";
    const cause = items.causeKind[i];
    const other = items.causePp[i] === row.pp ? "its own pipeline rank" : `pp ${items.causePp[i]}`;
    const reason = cause < 0 ? "" : `, waiting for ${DATA.kinds[cause]}${items.causeMb[i] >= 0 ? ` of microbatch ${items.causeMb[i]}` : ""} on ${other}`;
    return `${category.replace("_", " ")} of ${who}, ${when}${reason}`;
  }
}

// A function that tests an item by the words of a search, all of which have to hold; null for no words.
function readQuery(text, timeline) {
  const { items, rows, classes } = timeline;
  const words = text.toLowerCase().replace(/\b(mb|pp|rank|chunk)\s*[:=]?\s+(?=\d)/g, "$1").split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) {
    return null;
  }
  const factors = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 };
  const letters = new Map(CLASSES.map(([, letter], kind) => [letter.toLowerCase(), kind]).filter(([letter]) => letter !== ""));
  const nameOf = (i) => {
    const code = items.code[i];
    return code < DATA.idle_code ? DATA.kinds[code] : `${DATA.categories[code - DATA.idle_code] || "unknown"} ${CLASSES[classes[i]][2]}`;
  };
  const tests = words.map((word) => {
    const number = word.match(/^(mb|pp|rank|chunk)[:=]?(\d+)$/);
    const length = word.match(/^([<>])=?([\d.]+)(s|ms|us|ns)$/);
    if (number) {
      const value = Number(number[2]);
      const own = { mb: (i) => items.mb[i], chunk: (i) => items.chunk[i], pp: (i) => rows[items.row[i]].pp, rank: (i) => rows[items.row[i]].rank }[number[1]];
      return (i) => own(i) === value && (number[1] !== "chunk" || items.mb[i] >= 0);
    }
    if (length) {
      const limit = Number(length[2]) * factors[length[3]] * PS;
      return (i) => (length[1] === ">" ? items.end[i] - items.start[i] > limit : items.end[i] - items.start[i] < limit);
    }
    if (letters.has(word)) {
      return (i) => items.code[i] < DATA.idle_code && classes[i] === letters.get(word);
    }
    if (word === "critical") {
      return (i) => items.slack[i] === 0;
    }
    return (i) => nameOf(i).includes(word);
  });
  return (i) => tests.every((test) => test(i));
}
