// Arrows between slices of a timeline, collectives and the critical path: unpacked when they are first needed.
const MOST_FLOWS = 400, MOST_NAMED = 8;

const signedOf = (number) => number % 2 ? -(number + 1) / 2 : number / 2;
/// Key -> the places of that key among `keys`.
function placesOf(keys, count) {
  const begin = new Uint32Array(count + 1), order = new Uint32Array(keys.length);
  for (const key of keys) ++begin[key + 1];
  for (let k = 0; k < count; ++k) begin[k + 1] += begin[k];
  const next = begin.slice();
  keys.forEach((key, i) => { order[next[key]++] = i; });
  return (key) => order.subarray(begin[key], begin[key + 1]);
}
/// Arrows, collectives and the path, by places of slices.
async function unpackLinks(packed, count) {
  const bytes = await inflated(packed.links);
  let at = 0, last = 0;
  const numbers = (size) => {
    const to = new Float64Array(size);
    at = numbersOf(bytes, size, at, to);
    return to;
  };
  const counts = numbers(count), steps = numbers(packed.arrows), kind = Uint8Array.from(numbers(packed.arrows));
  const from = new Uint32Array(packed.arrows), to = new Uint32Array(packed.arrows);
  for (let i = 0, a = 0; i < count; ++i)
    for (let n = counts[i]; n > 0; --n, ++a) {
      from[a] = i;
      to[a] = i + signedOf(steps[a]);
    }
  const step = (by) => last += signedOf(by);
  const sizes = numbers(packed.collectives), members = Uint32Array.from(numbers(sizes.reduce((sum, size) => sum + size, 0)), step);
  let member = 0;
  const collectives = Array.from(sizes, (size) => members.subarray(member, member += size));
  last = 0;
  const path = Uint32Array.from(numbers(packed.path), step), gaps = numbers(packed.path), pathEnd = numbers(packed.path), collectiveOf = new Map();
  const pathStart = gaps.map((gap, p) => { const begin = (p ? pathEnd[p - 1] : 0) + gap; pathEnd[p] += begin; return begin; });
  for (const members of collectives) for (const i of members) collectiveOf.set(i, members);
  return { from, to, kind, collectives, collectiveOf, path, pathStart, pathEnd, after: placesOf(from, count), before: placesOf(to, count),
    pathPlace: new Map([...path].map((i, place) => [i, place]).reverse()) };
}

/// Selection, arrows and jumps of a timeline. `of`: what the timeline shows, its lanes, and its ways to move.
function linkView(of) {
  const { packed, slices } = of, { start, end } = slices;
  const state = { selected: -1, piece: 0, path: false, flows: false, crossing: null };
  let links, loading;
  const load = async () => { links = await (loading ??= unpackLinks(packed, start.length)); };
  const lastOf = (members) => members.reduce((a, b) => start[b] > start[a] ? b : a);

  const about = el("p", { class: "quiet", role: "status" }), named = el("div", { class: "links" });
  const button = (text, act, title) => {
    const made = el("button", { type: "button", class: "more", title }, text);
    made.addEventListener("click", act);
    return made;
  };
  /// Buttons that lead to other slices.
  const list = (title, all, text) => all.length ? el("div", {}, el("span", { class: "quiet" }, `${title} (${all.length}): `),
    ...[...all].slice(0, MOST_NAMED).flatMap((i) => [button(text(i), () => { of.focus(); select(i, state.selected); }), " "]),
    all.length > MOST_NAMED ? el("span", { class: "quiet" }, `and ${all.length - MOST_NAMED} more`) : undefined) : undefined;
  const nameOf = (i) => short(packed.names[slices.name[i]], 60) + ", " + of.laneName(i);
  /// The piece of the path to which a slice belongs: that of the last jump, or else the first.
  const pieceOf = (i) => links.path[state.piece] === i ? state.piece : links.pathPlace.get(i);
  function describe(i) {
    const place = pieceOf(i), members = links.collectiveOf.get(i);
    about.textContent = `Selected: ${of.text(i)}` + (place === undefined ? "" : `; piece ${place + 1} of ${links.path.length} of the critical path of ${packed.path_of}`);
    const ends = (arrows, other) => {
      const kinds = new Map([...arrows].map((a) => [other[a], packed.kinds[links.kind[a]]]));
      return [[...kinds.keys()], (each) => `${nameOf(each)} (${kinds.get(each)})`];
    };
    named.replaceChildren(...[list("Depends on", ...ends(links.before(i), links.from)), list("Needed by", ...ends(links.after(i), links.to)),
      members && list(`Collective, last to begin: ${of.laneName(lastOf(members))}`, members.filter((each) => each !== i), nameOf)].filter(Boolean));
  }
  /// Select a slice, and show it, with `beside` if that is a slice.
  async function select(i, beside = -1, part = undefined) {
    await load();
    state.selected = i;
    if (i >= 0) {
      describe(i);
      of.goTo(i, beside, part);
    } else {
      about.textContent = "";
      named.replaceChildren();
    }
    of.redraw();
  }
  /// The next slice of the critical path, or the one before; from elsewhere the first that ends after the middle of the view.
  async function toPath(by) {
    await load();
    if (!links.path.length) return;
    state.path = true;
    const piece = pieceOf(state.selected), time = state.selected < 0 ? of.middle() : start[state.selected];
    state.piece = piece === undefined ? Math.min(firstAbove(links.pathEnd, time), links.path.length - 1)
      : Math.min(Math.max(piece + by, 0), links.path.length - 1);
    await select(links.path[state.piece], -1, [links.pathStart[state.piece], links.pathEnd[state.piece]]);
  }
  /// The slice before or after on the lane.
  function along(by) {
    const lane = of.lanes[of.numberOf(state.selected)];
    if (lane && state.selected + by >= lane.from && state.selected + by < lane.to) select(state.selected + by);
  }
  /// Messages, and an arrow from the member of a collective that begins last to each other.
  function crossing() {
    const from = [], to = [], message = packed.kinds.indexOf("message");
    links.kind.forEach((kind, a) => { if (kind === message) { from.push(links.from[a]); to.push(links.to[a]); } });
    for (const members of links.collectives) {
      const last = lastOf(members);
      for (const i of members) if (i !== last) { from.push(last); to.push(i); }
    }
    return { from, to, fromLane: from.map(of.numberOf), toLane: to.map(of.numberOf) };
  }
  async function showFlows(on) {
    await load();
    state.flows = on;
    state.crossing ??= crossing();
    flowsBox.firstChild.checked = on;
    of.redraw();
  }

  // A flow leaves a slice at its end, or as soon as the other one begins.
  const leaves = (from, to) => Math.max(start[from], Math.min(end[from], start[to]));
  const arrives = (from, to) => Math.min(Math.max(leaves(from, to), start[to]), end[to]);
  /// Lines and heads of arrows. `lines`: [[x, y, x, y]].
  function stroke(context, lines, color, width, heads = true) {
    const trace = () => {
      context.beginPath();
      for (const [x0, y0, x1, y1] of lines) {
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
        if (!heads) continue;
        const angle = Math.atan2(y1 - y0, x1 - x0);
        for (const side of [-.5, .5]) {
          context.moveTo(x1, y1);
          context.lineTo(x1 - 6 * Math.cos(angle + side), y1 - 6 * Math.sin(angle + side));
        }
      }
      context.stroke();
    };
    [context.strokeStyle, context.lineWidth] = [color.back, width + 2.5];
    trace();
    [context.strokeStyle, context.lineWidth] = [color.front, width];
    trace();
  }
  /// Draw over the lanes. `x`: time -> pixel inside of the lanes; `y`: slice -> pixel, also of hidden lanes; `view`: { from, to }, and lanes from `first` to before `last`.
  function draw(context, { x, y, view, colors }) {
    const line = (from, to) => [x(leaves(from, to)), y(from), x(arrives(from, to)), y(to)];
    if (state.flows && links) {
      const { from, to, fromLane, toLane } = state.crossing, shown = [];
      let count = 0;
      for (let f = 0; f < from.length; ++f) {
        if (end[from[f]] < view.from && end[to[f]] < view.from || start[from[f]] > view.to && start[to[f]] > view.to) continue;
        if (Math.max(fromLane[f], toLane[f]) < view.first || Math.min(fromLane[f], toLane[f]) >= view.last) continue;
        if (++count <= MOST_FLOWS) shown.push(line(from[f], to[f]));
      }
      note(count > MOST_FLOWS ? `${count} flows in view; zoom in to see them` : `${count} flows in view`);
      if (count <= MOST_FLOWS) stroke(context, shown, colors, 1);
    } else {
      note("");
    }
    if (state.path && links) stroke(context, pathLines(x, y, view), { back: colors.back, front: colors.mark }, 2.5, false);
    if (state.selected < 0 || !links) return;
    const i = state.selected, members = links.collectiveOf.get(i), lines = [];
    for (const a of links.before(i).subarray(0, MOST_FLOWS)) lines.push(line(links.from[a], i));
    for (const a of links.after(i).subarray(0, MOST_FLOWS)) lines.push(line(i, links.to[a]));
    if (members) for (const other of members.subarray(0, MOST_FLOWS)) if (other !== lastOf(members)) lines.push(line(lastOf(members), other));
    stroke(context, lines, colors, 1.2);
    context.strokeStyle = colors.front;
    context.lineWidth = 2;
    context.strokeRect(x(start[i]) - 1, y(i) - LANE / 2 + 1, Math.max(x(end[i]) - x(start[i]), 1) + 2, LANE - 2);
  }
  /// The pieces of the path in view, and lines to the next one, without those that no pixel separates.
  function pathLines(x, y, view) {
    const lines = [];
    let lastX = -9, lastY = -9;
    const { path, pathStart, pathEnd } = links;
    for (let p = Math.max(firstAbove(pathEnd, view.from) - 1, 0); p < path.length && pathStart[p] <= view.to; ++p) {
      const x0 = x(pathStart[p]), x1 = x(pathEnd[p]), y0 = y(path[p]);
      if (x1 - lastX < 1 && y0 === lastY) continue;
      lines.push([x0, y0, x1, y0]);
      if (p + 1 < path.length) lines.push([x1, y0, x(pathStart[p + 1]), y(path[p + 1])]);
      [lastX, lastY] = [x1, y0];
    }
    return lines;
  }
  const noted = el("span", { class: "quiet", role: "status" });
  const note = (text) => { if (noted.textContent !== text) noted.textContent = text; };
  const flowsBox = el("label", {}, el("input", { type: "checkbox" }), " flows between ranks");
  flowsBox.firstChild.addEventListener("change", () => showFlows(flowsBox.firstChild.checked));
  const tools = [...(packed.path ? [button("Critical path", () => toPath(0), "Jump to the critical path"), " ",
    button("\u25c0 path", () => toPath(-1), "Previous operation on the critical path"), " ",
    button("path \u25b6", () => toPath(1), "Next operation on the critical path"), " "] : []), flowsBox, " ", noted];
  return { tools, element: el("div", {}, about, named), draw, select,
    keys: { c: () => toPath(0), ".": () => toPath(1), ",": () => toPath(-1), "[": () => along(-1), "]": () => along(1),
      f: () => showFlows(!state.flows), Escape: () => { state.path = false; select(-1); } } };
}
