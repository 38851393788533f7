"use strict";
// Draws slices over time on a canvas: one row of pixels per lane, and a pyramid of each lane for wide views.
const LANE = 14, MOST_HEIGHT = 560, FACTOR = 4;
/// Colors of series, in page.css: each pair differs also to a color-blind reader.
const COLORS = 16;
/// Steps between the background and a color: a frame looks colors up.
const SHADES = 64;

/// Numbers of seven bits a byte, the lowest first: the first bytes of all, then the second bytes of those that have one, ...
function numbersOf(bytes, count, at, to) {
  const open = new Uint32Array(count);  // numbers that have more bytes
  let left = 0;
  for (let i = 0; i < count; ++i) {
    const byte = bytes[at++];
    to[i] = byte & 127;
    if (byte > 127) open[left++] = i;
  }
  for (let factor = 128; left > 0; factor *= 128) {
    const here = left;
    left = 0;
    for (let k = 0; k < here; ++k) {
      const byte = bytes[at++];
      to[open[k]] += (byte & 127) * factor;
      if (byte > 127) open[left++] = open[k];
    }
  }
  return at;
}
/// The bytes of a text in base 64 that are deflated.
async function inflated(text) {
  text = atob(text);
  const raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) raw[i] = text.charCodeAt(i);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
/// Begin, end and name of each slice, lane by lane. The bytes hold all gaps, then all durations, then all names.
async function unpackSlices(packed) {
  const bytes = await inflated(packed.bytes);
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
  if (!NAME_KINDS.has(plain)) NAME_KINDS.set(plain, NAME_KINDS.size % COLORS);
  return NAME_KINDS.get(plain);
}

/// An element with the timeline of `length_ps`. `show`: time in picoseconds -> text. `laneName`: lane -> text.
function timeline(packed, length_ps, label, show, laneName) {
  const canvas = el("canvas", { class: "timeline", tabindex: "0", role: "img", "aria-label": label +
    ": timeline. Keys: A and D move, W and S zoom, arrows up and down scroll, N shows the next match, 0 shows all, Enter selects an operation, " +
    "left and right bracket select the one before and after, C jumps to the critical path, comma and point move on it, F shows flows." });
  const words = el("input", { type: "search", placeholder: "search names", "aria-label": "Search the timeline of " + label });
  const matches = el("span", { class: "quiet", role: "status" });
  const about = el("p", { class: "quiet about", role: "status" }, "Loading");
  const jump = (text, by, title) => {
    const made = el("button", { type: "button", class: "more", title }, text);
    made.addEventListener("click", () => slices && next(by));
    return made;
  };
  const tools = el("div", { class: "tools" }, words, " ", jump("\u25c0 match", -1, "Previous match"), " ", jump("match \u25b6", 1, "Next match"), " ", matches);
  const place = el("div", {}, tools, canvas, about);
  const lanes = packed.lanes, state = { from: 0, to: 1, first: 0, found: null, matches: 0, match: -1, picked: -1 };
  const all = Math.max(length_ps / packed.unit_ps, 1);
  let slices, pyramids, colors, links, queued = false, left = 0, across = 1;  // `across`: width of the canvas
  const kinds = Uint8Array.from(packed.names, kindOf);

  const rgb = (name) => {
    const [r, g, b] = getComputedStyle(canvas).getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16));
    return [r, g, b];
  };
  const mixed = (back, color, share) => {
    const [r, g, b] = color.map((part, i) => Math.round(part * share + back[i] * (1 - share)));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  };
  /// Also all shades of all colors: a row of SHADES + 1 for each.
  const readColors = () => {
    const back = rgb("--back"), shades = new Uint32Array(COLORS * (SHADES + 1));
    for (let c = 0; c < COLORS; ++c) {
      const color = rgb("--s" + c);
      for (let i = 0; i <= SHADES; ++i) shades[c * (SHADES + 1) + i] = mixed(back, color, i / SHADES);
    }
    colors = { back, text: rgb("--text"), mark: rgb("--link"), shades };
    labels.of = "";
  };
  const visible = () => Math.max(1, Math.min(lanes.length, Math.floor(MOST_HEIGHT / LANE)));

  const timeAt = (x) => state.from + (x - left) / (across - left) * (state.to - state.from);
  function row(pixels, at, lane, width) {
    const levels = pyramids[lane], from = state.from, scale = width / (state.to - from), { shades } = colors, { found } = state;
    const i0 = firstAbove(levels[0].end, state.from), i1 = firstAbove(levels[0].start, state.to, i0);
    let level = 0;
    for (let n = i1 - i0; n > 2 * width && level + 1 < levels.length; n /= FACTOR) ++level;
    const { start, end, busy, name } = levels[level], step = FACTOR ** level;
    const stop = Math.min(Math.ceil(i1 / step), start.length);
    for (let i = Math.floor(i0 / step); i < stop; ++i) {
      const x0 = Math.max(0, Math.floor((start[i] - from) * scale));
      const x1 = Math.min(width, Math.max(x0 + 1, Math.ceil((end[i] - from) * scale)));
      const share = end[i] > start[i] ? Math.max(busy[i] / (end[i] - start[i]), .25) : 1, strong = !found || found[name[i]];
      const color = shades[kinds[name[i]] * (SHADES + 1) + Math.round((strong ? share : .15 * share) * SHADES)];
      for (let x = at + x0; x < at + x1; ++x) pixels[x] = color;
    }
  }
  function draw() {
    queued = false;
    if (!slices) return;
    const begin = performance.now();
    const width = Math.max(1, Math.floor(across)), count = visible();
    if (canvas.width !== width || canvas.height !== count * LANE) [canvas.width, canvas.height] = [width, count * LANE];
    left = Math.min(170, Math.floor(width / 4));
    const inner = width - left, context = canvas.getContext("2d");
    if (rows.width !== inner || rows.height !== count || !image) {
      [rows.width, rows.height] = [inner, count];
      image = new ImageData(inner, count);
      pixels = new Uint32Array(image.data.buffer);
    }
    pixels.fill(colors.shades[0]);
    for (let i = 0; i < count; ++i) row(pixels, i * inner, state.first + i, inner);
    rows.getContext("2d").putImageData(image, 0, 0);
    drawLabels(count);
    context.imageSmoothingEnabled = false;
    context.drawImage(rows, 0, 0, inner, count, left, 0, inner, count * LANE);
    if (left > 0) context.drawImage(labels.canvas, 0, 0);  // an empty canvas cannot be drawn
    if (links) drawLinks(context, width, count);
    canvas.dataset.frame = (performance.now() - begin).toFixed(2);
  }
  /// The names of the lanes, again only where other lanes or colors are shown: text is slow.
  function drawLabels(count) {
    const of = `${state.first} ${count} ${left}`;
    if (labels.of === of) return;
    labels.of = of;
    [labels.canvas.width, labels.canvas.height] = [left, count * LANE];
    const context = labels.canvas.getContext("2d");
    context.fillStyle = `rgb(${colors.back})`;
    context.fillRect(0, 0, left, count * LANE);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = `rgb(${colors.text})`;
    for (let i = 0; i < count; ++i) context.fillText(laneName(lanes[state.first + i]), 0, (i + 1) * LANE - 3, left - 6);
  }
  function drawLinks(context, width, count) {
    const scale = (width - left) / (state.to - state.from), css = (color) => `rgb(${color})`;
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left, count * LANE);
    context.clip();
    links.draw(context, {
      x: (time) => left + Math.min(Math.max((time - state.from) * scale, -50), width + 50),
      y: (i) => (numberOf(i) - state.first + .5) * LANE,
      view: { from: state.from, to: state.to, first: state.first, last: state.first + count },
      colors: { back: css(colors.back), front: css(colors.text), mark: css(colors.mark) },
    });
    context.restore();
  }
  const rows = document.createElement("canvas"), labels = { canvas: document.createElement("canvas"), of: "" };
  let image, pixels;  // of `rows`
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
  const ends = new Float64Array(lanes.length);  // of lanes: the place after the last slice
  const numberOf = (i) => firstAbove(ends, i);
  const textOf = (i) => `${packed.names[slices.name[i]]}: ${laneName(lanes[numberOf(i)])}, from ${show(slices.start[i] * packed.unit_ps)}, ` +
    `takes ${show((slices.end[i] - slices.start[i]) * packed.unit_ps)}` + (packed.rounded ? ` (times are rounded to ${show(packed.unit_ps)})` : "");
  function tell(i) {
    state.picked = i;
    about.textContent = textOf(i);
  }
  function search() {
    const text = words.value.toLowerCase();
    state.found = text ? Uint8Array.from(packed.names, (name) => name.toLowerCase().includes(text) ? 1 : 0) : null;
    let count = 0;
    if (state.found) for (const name of slices.name) count += state.found[name];
    [state.matches, state.match] = [count, -1];
    matches.textContent = state.found ? `${count} of ${slices.name.length} slices` : "";
    state.picked = -1;
    pyramids = lanes.map((lane) => pyramidOf(slices, lane, state.found));
    redraw();
  }
  /// Go to the next match, or with -1 to the one before.
  function next(by = 1) {
    if (!state.found) return;
    const count = slices.name.length, first = state.match >= 0 ? state.match : by > 0 ? -1 : 0;
    for (let n = 1; n <= count; ++n) {
      const i = (first + by * n + count * 2) % count;
      if (!state.found[slices.name[i]]) continue;
      state.match = i;
      let number = 0;
      for (let each = 0; each <= i; ++each) number += state.found[slices.name[each]];
      matches.textContent = `match ${number} of ${state.matches}`;
      return links ? void links.select(i) : goTo(i);
    }
  }
  /// Show a slice, or a part of it, and if there is one, another beside it.
  function goTo(i, beside = -1, part = [slices.start[i], slices.end[i]]) {
    const at = numberOf(i), { start, end } = slices;
    if (at < state.first || at >= state.first + visible()) state.first = Math.max(0, Math.min(at - (visible() >> 1), lanes.length - visible()));
    const far = beside < 0 ? 0 : 2.5 * Math.max(Math.abs(start[i] - end[beside]), Math.abs(start[beside] - end[i]));
    const [from, to] = part, wide = Math.max((to - from) * 20, far, (state.to - state.from) / 50);
    tell(i);
    view((from + to - wide) / 2, (from + to + wide) / 2);
  }
  /// The operation under the pointer or at the last match; else the first in view on the first lane.
  function pick() {
    if (state.picked >= 0) return state.picked;
    const lane = lanes[state.first], i = lane ? firstAbove(slices.end, state.from, lane.from, lane.to) : 0;
    return lane && i < lane.to ? i : lane ? lane.to - 1 : -1;
  }
  const KEYS = { a: () => view(state.from - (state.to - state.from) / 5, state.to - (state.to - state.from) / 5),
    d: () => view(state.from + (state.to - state.from) / 5, state.to + (state.to - state.from) / 5),
    w: () => zoom(.6), s: () => zoom(1 / .6), 0: () => view(0, all), n: () => next(), N: () => next(-1),
    Enter: () => links?.select(pick()),
    ArrowUp: () => scroll(-1), ArrowDown: () => scroll(1) };
  [KEYS.ArrowLeft, KEYS.ArrowRight, KEYS["+"], KEYS["-"]] = [KEYS.a, KEYS.d, KEYS.w, KEYS.s];
  canvas.addEventListener("keydown", (event) => {
    const act = KEYS[event.key] ?? links?.keys[event.key] ?? KEYS[event.key.toLowerCase()] ?? links?.keys[event.key.toLowerCase()];
    if (!slices || !act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!slices) return;
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;  // the page scrolls
    event.preventDefault();
    if (event.shiftKey) scroll(Math.sign(event.deltaY || event.deltaX));
    else zoom(1.0015 ** event.deltaY, (event.offsetX - left) / (across - left));
  }, { passive: false });
  canvas.addEventListener("pointermove", (event) => {
    if (!slices) return;
    if (event.buttons & 1) {
      const by = event.movementX / (across - left) * (state.to - state.from);
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
  let pressed = 0;
  canvas.addEventListener("pointerdown", (event) => { pressed = event.clientX; });
  canvas.addEventListener("click", (event) => { if (links && Math.abs(event.clientX - pressed) < 4) links.select(state.picked); });
  words.addEventListener("input", () => slices && search());
  words.addEventListener("keydown", (event) => { if (event.key === "Enter" && slices) next(); });
  new ResizeObserver(() => { across = canvas.clientWidth; redraw(); }).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); redraw(); });
  unpackSlices(packed).then((made) => {
    slices = made;
    lanes.forEach((lane, i) => { ends[i] = lane.to; });
    if (packed.links) {
      links = linkView({ packed, slices, lanes, numberOf, text: textOf, laneName: (i) => laneName(lanes[numberOf(i)]), goTo, redraw,
        middle: () => (state.from + state.to) / 2, focus: () => canvas.focus() });
      tools.append(" ", ...links.tools);
      place.append(links.element);
    }
    pyramids = lanes.map((lane) => pyramidOf(slices, lane));
    readColors();
    across = canvas.clientWidth;
    view(0, all);
    canvas.dataset.ready = performance.now().toFixed(0);
  });
  return place;
}
