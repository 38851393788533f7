"use strict";
// Draws slices over time on a canvas: one row of pixels per lane, and a pyramid of each lane for wide views.
const LANE = 14, MOST_HEIGHT = 560, FACTOR = 4;

/// Numbers of seven bits a byte, the lowest first.
function numbersOf(bytes, count, at, to) {
  for (let i = 0; i < count; ++i) {
    let value = 0, factor = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte > 127);
    to[i] = value;
  }
  return at;
}
/// Begin, end and name of each slice, lane by lane. The bytes hold all gaps, then all durations, then all names.
async function unpackSlices(packed) {
  const text = atob(packed.bytes), raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) raw[i] = text.charCodeAt(i);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = packed.lanes.reduce((sum, lane) => sum + lane.slices, 0);
  const start = new Float64Array(count), end = new Float64Array(count), name = new Uint32Array(count);
  const at = numbersOf(bytes, count, numbersOf(bytes, count, 0, start), end);
  numbersOf(bytes, count, at, name);
  let i = 0;
  for (const lane of packed.lanes) {
    lane.from = i;
    for (let last = 0, stop = i + lane.slices; i < stop; ++i) {
      start[i] += last;
      last = end[i] += start[i];
    }
    lane.to = i;
  }
  return { start, end, name };
}
/// Levels of a lane: a cell of level k stands for FACTOR^k slices, with the busy time, and the name of the longest slice
/// of those that `found` has, else of all.
function pyramidOf({ start, end, name }, lane, found) {
  const levels = [], FIRST_OF_ALL = 2 ** 60;
  let below = { start: start.subarray(lane.from, lane.to), end: end.subarray(lane.from, lane.to) };
  below.busy = below.end.map((stop, i) => stop - below.start[i]);
  below.name = name.subarray(lane.from, lane.to);
  below.longest = found ? below.busy.map((busy, i) => busy + (found[below.name[i]] ? FIRST_OF_ALL : 0)) : below.busy;
  for (levels.push(below); below.start.length > FACTOR; levels.push(below)) {
    const size = Math.ceil(below.start.length / FACTOR);
    const level = { start: new Float64Array(size), end: new Float64Array(size), busy: new Float64Array(size), longest: new Float64Array(size), name: new Uint32Array(size) };
    for (let i = 0; i < below.start.length; ++i) {
      const cell = Math.floor(i / FACTOR);
      if (i % FACTOR === 0) level.start[cell] = below.start[i];
      level.end[cell] = below.end[i];
      level.busy[cell] += below.busy[i];
      if (below.longest[i] >= level.longest[cell]) {
        level.longest[cell] = below.longest[i];
        level.name[cell] = below.name[i];
      }
    }
    below = level;
  }
  return levels;
}
/// The first place whose value is above `limit`; values ascend.
function firstAbove(values, limit, from = 0, to = values.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > limit) to = middle;
    else from = middle + 1;
  }
  return from;
}

/// Names that differ only in numbers have one color, in all timelines.
const NAME_KINDS = new Map();
function kindOf(name) {
  const plain = name.replace(/\d+/g, "");
  if (!NAME_KINDS.has(plain)) NAME_KINDS.set(plain, NAME_KINDS.size % 8);
  return NAME_KINDS.get(plain);
}

/// An element with the timeline of `length_ps`. `show`: time in picoseconds -> text. `laneName`: lane -> text.
function timeline(packed, length_ps, label, show, laneName) {
  const canvas = el("canvas", { class: "timeline", tabindex: "0", role: "img", "aria-label": label +
    ": timeline. Keys: A and D move, W and S zoom, arrows up and down scroll, N shows the next match, 0 shows all." });
  const words = el("input", { type: "search", placeholder: "search names", "aria-label": "Search the timeline of " + label });
  const matches = el("span", { class: "quiet", role: "status" });
  const about = el("p", { class: "quiet about", role: "status" }, "Loading");
  const place = el("div", {}, words, " ", matches, canvas, about);
  const lanes = packed.lanes, state = { from: 0, to: 1, first: 0, found: null, picked: -1 };
  const all = Math.max(length_ps / packed.unit_ps, 1);
  let slices, pyramids, colors, queued = false, left = 0;
  const kinds = Uint8Array.from(packed.names, kindOf);

  const rgb = (name) => {
    const [r, g, b] = getComputedStyle(canvas).getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16));
    return [r, g, b];
  };
  const readColors = () => { colors = { back: rgb("--back"), text: rgb("--text"), names: [...Array(8).keys()].map((i) => rgb("--s" + i)) }; };
  const mixed = (color, share) => {
    const [r, g, b] = color.map((part, i) => Math.round(part * share + colors.back[i] * (1 - share)));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  };
  const visible = () => Math.max(1, Math.min(lanes.length, Math.floor(MOST_HEIGHT / LANE)));
  const colorOf = (name, share) => {
    const strong = !state.found || state.found[name];
    return mixed(colors.names[kinds[name]], (strong ? 1 : .15) * Math.max(share, .25));
  };

  const timeAt = (x) => state.from + (x - left) / (canvas.clientWidth - left) * (state.to - state.from);
  function row(pixels, lane, width) {
    const levels = pyramids[lane], scale = width / (state.to - state.from);
    const i0 = firstAbove(levels[0].end, state.from), i1 = firstAbove(levels[0].start, state.to, i0);
    let level = 0;
    for (let n = i1 - i0; n > 2 * width && level + 1 < levels.length; n /= FACTOR) ++level;
    const { start, end, busy, name } = levels[level], step = FACTOR ** level;
    const stop = Math.min(Math.ceil(i1 / step), start.length);
    for (let i = Math.floor(i0 / step); i < stop; ++i) {
      const x0 = Math.max(0, Math.floor((start[i] - state.from) * scale));
      const x1 = Math.min(width, Math.max(x0 + 1, Math.ceil((end[i] - state.from) * scale)));
      pixels.fill(colorOf(name[i], end[i] > start[i] ? busy[i] / (end[i] - start[i]) : 1), x0, x1);
    }
  }
  function draw() {
    queued = false;
    if (!slices) return;
    const begin = performance.now();
    const width = Math.max(1, Math.floor(canvas.clientWidth)), count = visible();
    if (canvas.width !== width || canvas.height !== count * LANE) [canvas.width, canvas.height] = [width, count * LANE];
    left = Math.min(170, Math.floor(width / 4));
    const inner = width - left, image = new ImageData(inner, count), pixels = new Uint32Array(image.data.buffer);
    pixels.fill(mixed(colors.back, 1));
    for (let i = 0; i < count; ++i) row(pixels.subarray(i * inner, (i + 1) * inner), state.first + i, inner);
    const context = canvas.getContext("2d");
    rows.width = inner;
    rows.height = count;
    rows.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.fillStyle = `rgb(${colors.back})`;
    context.fillRect(0, 0, width, count * LANE);
    context.drawImage(rows, 0, 0, inner, count, left, 0, inner, count * LANE);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = `rgb(${colors.text})`;
    for (let i = 0; i < count; ++i) context.fillText(laneName(lanes[state.first + i]), 0, (i + 1) * LANE - 3, left - 6);
    canvas.dataset.frame = (performance.now() - begin).toFixed(2);
  }
  const rows = document.createElement("canvas");
  const redraw = () => { if (!queued) queued = true, requestAnimationFrame(draw); };
  function view(from, to) {
    const least = Math.max(all * 1e-9, 4), wide = Math.min(Math.max(to - from, least), all);
    state.from = Math.min(Math.max(from, 0), all - wide);
    state.to = state.from + wide;
    redraw();
    if (state.picked < 0) about.textContent = `${show(state.from * packed.unit_ps)} to ${show(state.to * packed.unit_ps)} of ${show(all * packed.unit_ps)}`;
  }
  const zoom = (factor, at = .5) => {
    const wide = state.to - state.from, center = state.from + at * wide;
    view(center - at * wide * factor, center + (1 - at) * wide * factor);
  };
  const scroll = (by) => { state.first = Math.min(Math.max(state.first + by, 0), lanes.length - visible()); redraw(); };
  function tell(i) {
    const lane = lanes.find((each) => i < each.to);
    state.picked = i;
    about.textContent = `${packed.names[slices.name[i]]}: ${laneName(lane)}, from ${show(slices.start[i] * packed.unit_ps)}, ` +
      `takes ${show((slices.end[i] - slices.start[i]) * packed.unit_ps)}`;
    return lane;
  }
  function search() {
    const text = words.value.toLowerCase();
    state.found = text ? Uint8Array.from(packed.names, (name) => name.toLowerCase().includes(text) ? 1 : 0) : null;
    let count = 0;
    if (state.found) for (const name of slices.name) count += state.found[name];
    matches.textContent = state.found ? `${count} of ${slices.name.length} slices` : "";
    state.picked = -1;
    pyramids = lanes.map((lane) => pyramidOf(slices, lane, state.found));
    redraw();
  }
  function next() {
    if (!state.found) return;
    const count = slices.name.length;
    for (let n = 1; n <= count; ++n) {
      const i = (state.picked + n) % count;
      if (!state.found[slices.name[i]]) continue;
      const at = lanes.indexOf(tell(i)), wide = Math.max((slices.end[i] - slices.start[i]) * 20, (state.to - state.from) / 50);
      if (at < state.first || at >= state.first + visible()) state.first = Math.max(0, Math.min(at, lanes.length - visible()));
      view((slices.start[i] + slices.end[i] - wide) / 2, (slices.start[i] + slices.end[i] + wide) / 2);
      return;
    }
  }
  const KEYS = { a: () => view(state.from - (state.to - state.from) / 5, state.to - (state.to - state.from) / 5),
    d: () => view(state.from + (state.to - state.from) / 5, state.to + (state.to - state.from) / 5),
    w: () => zoom(.6), s: () => zoom(1 / .6), 0: () => view(0, all), n: next,
    ArrowUp: () => scroll(-1), ArrowDown: () => scroll(1) };
  [KEYS.ArrowLeft, KEYS.ArrowRight, KEYS["+"], KEYS["-"]] = [KEYS.a, KEYS.d, KEYS.w, KEYS.s];
  canvas.addEventListener("keydown", (event) => {
    const act = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
    if (!slices || !act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!slices) return;
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;  // the page scrolls
    event.preventDefault();
    if (event.shiftKey) scroll(Math.sign(event.deltaY || event.deltaX));
    else zoom(1.0015 ** event.deltaY, (event.offsetX - left) / (canvas.clientWidth - left));
  }, { passive: false });
  canvas.addEventListener("pointermove", (event) => {
    if (!slices) return;
    if (event.buttons & 1) {
      const by = event.movementX / (canvas.clientWidth - left) * (state.to - state.from);
      view(state.from - by, state.to - by);
      return;
    }
    const lane = lanes[state.first + Math.floor(event.offsetY / LANE)];
    if (!lane) return;
    const time = timeAt(event.offsetX);
    const i = firstAbove(slices.end, time, lane.from, lane.to);
    if (i < lane.to && slices.start[i] <= time) tell(i);
    else state.picked = -1;
  });
  words.addEventListener("input", () => slices && search());
  words.addEventListener("keydown", (event) => { if (event.key === "Enter" && slices) next(); });
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); redraw(); });
  unpackSlices(packed).then((made) => {
    slices = made;
    pyramids = lanes.map((lane) => pyramidOf(slices, lane));
    readColors();
    view(0, all);
    canvas.dataset.ready = performance.now().toFixed(0);
  });
  return place;
}
