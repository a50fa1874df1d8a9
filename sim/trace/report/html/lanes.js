// The lanes below the rows of the timeline, on the same time axis: memory, and sent bytes.

// Draw the frame and the title of a lane whose top is at pixel `top`.
function frame(timeline, pen, top, title) {
  pen.fillStyle = timeline.soft;
  pen.textAlign = "left";
  pen.textBaseline = "bottom";
  pen.fillText(title, timeline.left, top - 3);
  pen.strokeStyle = timeline.line;
  pen.lineWidth = 1;
  pen.strokeRect(timeline.left + 0.5, top + 0.5, timeline.plot, timeline.laneHeight);
}

// Write a number beside a lane, at height y.
function scaleLabel(timeline, pen, y, text) {
  pen.fillStyle = timeline.soft;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.fillText(text, timeline.left - 5, y);
}

// The lane with the memory of the selected row, and the capacity if it is near.
class MemoryLane {
  constructor(memory, capacity) {
    this.memory = memory;
    this.capacity = capacity;
    this.most = memory.levels.reduce((most, level) => Math.max(most, level), 0);
  }

  // Index of the point of a row that holds at a time.
  find(row, time) {
    let low = this.memory.first[row];
    for (let high = this.memory.first[row + 1]; low < high; ) {
      const middle = (low + high) >> 1;
      if (this.memory.times[middle] <= time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  draw(timeline, pen, top) {
    const { memory } = this;
    const row = timeline.row;
    const isNear = this.capacity > 0 && this.most > 0.4 * this.capacity;
    const full = 1.05 * (isNear ? Math.max(this.capacity, this.most) : this.most) || 1;
    const y = (level) => top + timeline.laneHeight * (1 - level / full);
    frame(timeline, pen, top, `memory of ${timeline.rows[row].label} (rank ${timeline.rows[row].rank})` + (memory.isWhole ? "" : ", highest of each stretch"));
    pen.beginPath();
    pen.moveTo(timeline.left, top + timeline.laneHeight);
    // of all points in one column of pixels only the highest and the last are drawn
    let level = 0;
    let k = Math.max(memory.first[row], this.find(row, timeline.view.from));
    const perPixel = (timeline.view.to - timeline.view.from) / timeline.plot;
    for (let c = 0; c <= timeline.plot; c++) {
      let highest = level;
      const until = timeline.view.from + c * perPixel;
      for (; k < memory.first[row + 1] && memory.times[k] <= until; k++) {
        level = memory.levels[k];
        highest = Math.max(highest, level);
      }
      if (until > timeline.end) { // beyond the run, beside longer ones
        highest = level = 0;
      }
      pen.lineTo(timeline.left + c, y(highest));
      pen.lineTo(timeline.left + c, y(level));
    }
    pen.lineTo(timeline.left + timeline.plot, top + timeline.laneHeight);
    pen.fillStyle = colour("activations");
    pen.fill();
    scaleLabel(timeline, pen, y(this.most), brief(this.most, "bytes"));
    if (isNear) {
      pen.strokeStyle = colour("wait");
      pen.setLineDash([6, 4]);
      pen.beginPath();
      pen.moveTo(timeline.left, y(this.capacity));
      pen.lineTo(timeline.left + timeline.plot, y(this.capacity));
      pen.stroke();
      pen.setLineDash([]);
      pen.fillStyle = timeline.ink;
      pen.textAlign = "right";
      const isLow = y(this.capacity) > top + timeline.laneHeight - 16;
      pen.textBaseline = isLow ? "bottom" : "top";
      pen.fillText(`capacity ${format(this.capacity, "bytes")}`, timeline.left + timeline.plot - 4, y(this.capacity) + (isLow ? -2 : 2));
    }
  }

  describe(timeline, time) {
    const k = this.find(timeline.row, time);
    return k < this.memory.first[timeline.row] ? "" : `memory of ${timeline.rows[timeline.row].label}: ${format(this.memory.levels[k], "bytes")}`;
  }
}

// The lane with the rate at which a GPU sends, mean over all GPUs, with the axes stacked.
class SentLane {
  constructor(sent, end) {
    this.sent = sent;
    this.bin = sent.length > 0 ? end / sent[0].rates.length : end;
  }

  // Mean rates of the axes between two times.
  rates(from, to) {
    const first = Math.floor(from / this.bin);
    const last = Math.max(first, Math.ceil(to / this.bin) - 1);
    return this.sent.map(({ rates }) => {
      let sum = 0;
      let count = 0;
      for (let bin = first; bin <= last && bin < rates.length; bin++) {
        sum += rates[bin];
        count++;
      }
      return count === 0 ? 0 : sum / count;
    });
  }

  draw(timeline, pen, top) {
    const columns = [];
    const perPixel = (timeline.view.to - timeline.view.from) / timeline.plot;
    let most = 0;
    for (let c = 0; c < timeline.plot; c++) {
      const rates = this.rates(timeline.view.from + c * perPixel, timeline.view.from + (c + 1) * perPixel);
      columns.push(rates);
      most = Math.max(most, rates.reduce((sum, rate) => sum + rate, 0));
    }
    frame(timeline, pen, top, `sent by a GPU, mean: ${this.sent.map(({ axis }) => axis).join(", ")}`);
    const full = most * 1.05 || 1;
    this.sent.forEach(({ axis }, a) => {
      pen.fillStyle = colour(axis);
      columns.forEach((rates, c) => {
        const below = rates.slice(0, a).reduce((sum, rate) => sum + rate, 0);
        const height = (rates[a] / full) * timeline.laneHeight;
        if (height > 0) {
          pen.fillRect(timeline.left + c, top + timeline.laneHeight * (1 - below / full) - height, 1, height);
        }
      });
    });
    scaleLabel(timeline, pen, top + timeline.laneHeight * (1 - most / full), brief(most, "rate"));
  }

  describe(timeline, time) {
    const rates = this.rates(time, time);
    return this.sent.map(({ axis }, a) => `${axis} ${format(rates[a], "rate")}`).join(", ");
  }
}
