// Reads the columns of a trace from the page's data. A column is a text in base64; its numbers are varints (encode.c).

// The bytes of a text in base64.
function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) {
    bytes[i] = raw.charCodeAt(i);
  }
  return bytes;
}

// The numbers of a column. Above 2^53 they are rounded, as JavaScript has no larger exact numbers.
function column(text, isSigned) {
  const bytes = bytesOf(text);
  let count = 0;
  for (let i = 0; i < bytes.length; i++) {
    count += bytes[i] < 128;
  }
  const numbers = new Float64Array(count);
  let number = 0;
  let factor = 1;
  let next = 0;
  for (let i = 0; i < bytes.length; i++) {
    number += (bytes[i] & 127) * factor;
    factor *= 128;
    if (bytes[i] < 128) {
      numbers[next++] = !isSigned ? number : number % 2 === 0 ? number / 2 : -(number + 1) / 2;
      number = 0;
      factor = 1;
    }
  }
  return numbers;
}

// Index of the first item of each row, from the numbers of items: [rows + 1].
function sums(counts) {
  const first = new Uint32Array(counts.length + 1);
  counts.forEach((count, i) => {
    first[i + 1] = first[i] + count;
  });
  return first;
}

// Bits of an item's marks, as in items.c: inside a pass, upper or lower half of the row, communication of other ranks.
const PART = 1, UPPER = 2, LOWER = 4, FOREIGN = 8;

// Expand a column that has numbers only of the items for which isOf is set to all items, with `none` for the others.
function spread(numbers, isOf, none) {
  let next = 0;
  return isOf.map((is) => (is ? numbers[next++] : none));
}

// Passes and idle time by row: row r has items first[r] to first[r + 1], by start; times in picoseconds.
function readItems(packed) {
  const codes = column(packed.code);
  const isPass = codes.map((code) => code % DATA.codes < DATA.idle_code);
  const isIdle = isPass.map((is) => 1 - is);
  const items = {
    count: packed.count, hasParts: packed.has_parts, first: sums(column(packed.row_items)), row: new Uint32Array(packed.count),
    start: column(packed.gap_ps, true), end: column(packed.length_ps),
    code: Uint8Array.from(codes, (code) => code % DATA.codes), marks: Uint8Array.from(codes, (code) => Math.floor(code / DATA.codes)),
    waited: spread(column(packed.waited_ps), isPass, 0), slack: spread(column(packed.slack_ps, true), isPass, -1),
    mb: spread(column(packed.mb, true), isPass, -1), chunk: spread(column(packed.chunk, true), isPass, -1),
    causeKind: spread(column(packed.cause_kind, true), isIdle, -1), causeMb: spread(column(packed.cause_mb, true), isIdle, -1),
    causePp: spread(column(packed.cause_pp, true), isIdle, -1),
  };
  for (let r = 0; r + 1 < items.first.length; r++) {
    let before = 0;
    for (let i = items.first[r]; i < items.first[r + 1]; i++) {
      items.row[i] = r;
      items.start[i] += before;
      items.end[i] += items.start[i];
      before = items.end[i];
    }
  }
  return items;
}

// Levels of memory by row: from times[i] on levels[i] bytes.
function readMemory(packed) {
  const memory = { first: sums(column(packed.row_points)), times: column(packed.time_ps, true), levels: column(packed.level_B, true), isWhole: packed.is_whole };
  for (let r = 0; r + 1 < memory.first.length; r++) {
    for (let i = memory.first[r] + 1; i < memory.first[r + 1]; i++) {
      memory.times[i] += memory.times[i - 1];
      memory.levels[i] += memory.levels[i - 1];
    }
  }
  return memory;
}

// Rate at which a GPU sends along each axis, in equal bins of the run [B/s].
function readSent(packed) {
  return Object.entries(packed).map(([axis, text]) => ({ axis, rates: new Float32Array(bytesOf(text).buffer) }));
}

// Parts of the critical path, in order: pipeline rank, start and end in picoseconds.
function readPath(packed) {
  const path = { pp: column(packed.pp), start: column(packed.gap_ps, true), end: column(packed.length_ps) };
  for (let i = 0; i < path.pp.length; i++) {
    path.start[i] += i > 0 ? path.end[i - 1] : 0;
    path.end[i] += path.start[i];
  }
  return path;
}
