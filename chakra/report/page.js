// Shows the answers in the element `data`. All numbers are cells of these answers; the page orders, filters and formats.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const FIRST = 12;

// ---- elements: texts only ever become text nodes and values of attributes ----------------------------------------

function add(to, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) to.setAttribute(key, value);
  to.append(...children.filter((child) => child !== undefined));
  return to;
}
const el = (tag, attributes = {}, ...children) => add(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  add(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// ---- numbers -----------------------------------------------------------------------------------------------------

const commas = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");
const four = (value) => Math.abs(value) >= 1000 ? commas(value.toFixed(0)) : value === 0 ? "0" : value.toPrecision(4);
function scaled(value, steps) {
  const [factor, unit] = steps.find(([least]) => Math.abs(value) >= least) || steps[steps.length - 1];
  return four(value / factor) + " " + unit;
}
const TIMES = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]];
const decimal = (unit) => [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]].map(([f, p]) => [f, p + unit]);
const SHOW = {
  ps: (v) => v === 0 ? "0 s" : scaled(v, TIMES),
  ns: (v) => v === 0 ? "0 s" : scaled(v * 1e3, TIMES),
  bytes: (v) => scaled(v, [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]]).replace(/\.0+ B$/, " B"),
  "bytes/s": (v) => scaled(v, decimal("B/s")),
  FLOP: (v) => scaled(v, decimal("FLOP")),
  "FLOP/s": (v) => scaled(v, decimal("FLOP/s")),
  "FLOP/B": (v) => four(v) + " FLOP/B",
  share: (v) => (100 * v).toFixed(2) + " %",
  percent: (v) => v.toFixed(2) + " %",
  count: (v, exact) => exact.includes(".") ? exact : commas(exact),
};
/// Whole numbers from 2^53 on are texts in the data, since JavaScript would round them.
const isNumber = (value, column) =>
  typeof value === "number" || (typeof value === "string" && column.unit !== "" && /^-?\d{16,20}$/.test(value));
function show(value, column) {
  if (value === null) return column.optional ? "" : "not known";
  if (!isNumber(value, column)) return String(value);
  const exact = String(value);
  return SHOW[column.unit] ? SHOW[column.unit](Number(value), exact) : Number.isInteger(value) || column.unit ? exact : four(value);
}
const UNITS = { ps: "picoseconds", share: "1 = 100 %", "": "" };
const meaning = (column, value) => (column.meaning || column.key) +
  (value === undefined || value === null ? "" : ": " + value + " " + (UNITS[column.unit] ?? column.unit)) ;
const heading = (column) => column.heading || column.key.replace(/_ps$/, "").replaceAll("_", " ");

// ---- tables of the answers ---------------------------------------------------------------------------------------

/// The tables of answers, by key; the first answer that has the key counts.
function tablesOf(answers) {
  const tables = new Map();
  for (const answer of answers)
    for (const table of answer.tables) {
      Object.assign(table, { verb: answer.verb, command: answer.command, all: tables });
      table.columns = table.columns.filter((column) => !column.optional || column.cells.some((value) => value !== null) || !column.cells.length);
      if (table.identical) table.columns.splice(1, 0, { key: "identical_rows", unit: "count", heading: "identical rows", cells: table.identical,
        meaning: "rows that are equal except for ids and groups, this row included" });
      table.column = Object.fromEntries(table.columns.map((column) => [column.key, column]));
      table.shown = table.columns.length ? table.columns[0].cells.length : 0;
      if (!tables.has(table.key)) tables.set(table.key, table);
    }
  return tables;
}
const NAMES = ["A", "B"];
const two = data.jobs.length > 1;
data.jobs.forEach((job, i) => {
  job.id = two ? NAMES[i].toLowerCase() + "-" : "";
  job.label = two ? NAMES[i] + ": " : "";
  job.tables = tablesOf(job.answers);
});
/// Answers about both jobs.
const both = { id: "both-", label: "", name: "", ranks: 0, answers: data.answers, tables: tablesOf(data.answers) };
/// The job whose figures are drawn.
let job = data.jobs[0], tables = job.tables;
function withJob(which, make) {
  [job, tables] = [which, which.tables];
  return make();
}
const rowsOf = (table) => table ? [...Array(table.shown).keys()] : [];
const cell = (table, key, row) => table.column[key].cells[row];
/// The place of a row in the table of the answer.
const placeOf = (table, row) => table.at ? table.at[row] : row;
const command = (table) => table.command ? `${table.command} --all ${table.key}` : "";
const outer = (table) => table.parent ? table.all.get(table.parent).meaning + ": " : "";
const title = (table) => { const words = outer(table) + table.meaning; return words.slice(0, 1).toUpperCase() + words.slice(1); };

function tableElement(table) {
  const body = el("tbody");
  const left = table.rows - (table.identical ? table.identical.reduce((sum, count) => sum + count, 0) : table.shown);
  const id = job.id + table.key;
  const filter = el("input", { type: "search", "aria-label": "Filter the rows of " + job.label + table.meaning, placeholder: "filter" });
  const more = el("button", { type: "button", class: "more" });
  const order = { column: null, up: false };
  let all = false;
  const marks = new Set();
  const draw = () => {
    const words = filter.value.toLowerCase();
    let rows = rowsOf(table);
    if (words) rows = rows.filter((r) => table.columns.some((c) => show(c.cells[r], c).toLowerCase().includes(words)));
    if (order.column) {
      const cells = order.column.cells;
      const key = (r) => isNumber(cells[r], order.column) ? Number(cells[r]) : cells[r] === null ? -Infinity : cells[r];
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        const by = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
        return (order.up ? by : -by) || a - b;
      });
    }
    more.hidden = rows.length <= FIRST;
    more.textContent = all ? `Show only ${FIRST} rows` : `Show all ${rows.length} rows`;
    if (!all) rows = rows.filter((r, i) => i < FIRST || marks.has(placeOf(table, r)));
    body.replaceChildren(...rows.map((r) => el("tr", marks.has(placeOf(table, r)) ? { class: "marked" } : {},
      ...table.columns.map((c) => el("td", { class: isNumber(c.cells[r], c) ? "number" : "text", title: meaning(c, c.cells[r]) },
        show(c.cells[r], c))))));
  };
  const heads = table.columns.map((column) => {
    const number = column.cells.some((value) => isNumber(value, column));
    const button = el("button", { type: "button", title: meaning(column) }, heading(column));
    const head = el("th", { scope: "col", class: number ? "number" : "text", "aria-sort": "none" }, button);
    button.addEventListener("click", () => {
      order.up = order.column === column ? !order.up : !number;
      order.column = column;
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order.up ? "ascending" : "descending");
      draw();
    });
    return head;
  });
  filter.addEventListener("input", draw);
  more.addEventListener("click", () => { all = !all; draw(); });
  table.mark = (place) => { marks.add(place); draw(); };
  draw();
  return el("div", { id: "table-" + id, tabindex: "-1" },
    el("h3", {}, job.label + title(table)),
    table.shown > FIRST ? filter : undefined,
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": job.label + table.meaning },
      el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)),
    more,
    left > 0 ? el("p", { class: "quiet" }, `${left} more rows` + (table.command ? ": " + command(table) : "")) : undefined,
    el("details", {}, el("summary", { class: "quiet" }, "Definitions"),
      el("dl", {}, ...table.columns.flatMap((c) => [el("dt", {}, heading(c)),
        el("dd", {}, c.meaning + (c.unit && c.unit !== "id" ? ` (${UNITS[c.unit] ?? c.unit})` : ""))]))));
}

// ---- figures -----------------------------------------------------------------------------------------------------

const short = (text, most) => text.length > most ? text.slice(0, most - 1) + "\u2026" : text;
const rankName = (rank) => "rank " + rank;
/// A figure that is drawn again where its width changes. `draw`: width -> SVG element.
function figure(name, draw, legend = []) {
  name = job.label + name;
  const place = el("div", { role: "img", "aria-label": name + "; the tables below have the numbers" });
  let width = 0;
  new ResizeObserver((entries) => {
    const now = Math.floor(entries[0].contentRect.width);
    if (now === width || now < 50) return;
    width = now;
    requestAnimationFrame(() => place.replaceChildren(draw(width)));  // not while the observer runs
  }).observe(place);
  return el("figure", {}, el("figcaption", {}, name),
    el("ul", { class: "legend" }, ...legend.map((each, i) => el("li", {},
      svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, svg("rect", { width: 12, height: 12, class: "s" + i % COLORS })),
      " " + short(each, 40)))), place);
}
const tooLarge = (table) => el("p", { class: "quiet" }, `${job.label}${title(table)}: too many rows for a figure; ${command(table)}`);
const canvas = (width, height, ...parts) => svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...parts);
const label = (x, y, text, most, anchor = "start") =>
  svg("text", { x, y, "text-anchor": anchor }, short(text, most), svg("title", {}, text));

/// The largest value of figures with this id: those of both jobs have one scale.
const scales = new Map();
/// One bar per row, of parts side by side. rows: [{name, parts: [{series, value, text}]}], all in one unit.
function bars(id, name, rows, legend, column) {
  const longest_bar = Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)));
  if (!(longest_bar > 0)) return undefined;
  scales.set(id, Math.max(scales.get(id) ?? 0, longest_bar));
  return figure(name, (width) => {
    const most = scales.get(id);
    const longest = Math.max(...rows.map((row) => row.name.length));
    const left = Math.min(220, Math.floor(width / 3), longest * 7.4 + 8), high = rows.length > 32 ? 12 : 20, room = width - left - 4;
    const parts = rows.flatMap((row, i) => {
      let x = left;
      return [label(0, i * high + 11, row.name, Math.floor(left / 7.2)), ...row.parts.map((part) => {
        const wide = part.value / most * room;
        x += wide;
        return svg("rect", { x: x - wide, y: i * high + 1, width: Math.max(wide, 0), height: high - 3, class: "s" + part.series % COLORS },
          svg("title", {}, `${row.name}: ${part.text}`));
      })];
    });
    const foot = rows.length * high + 14;
    return canvas(width, foot + 4, ...parts, label(left, foot, "0", 9), label(width - 4, foot, show(most, column), 20, "end"));
  }, legend);
}
/// Rows of a table with a column of names for the parts: a bar per rank.
function stacked(key, part, value) {
  const table = tables.get(key);
  if (!table?.shown) return undefined;
  if (table.cut) return tooLarge(table);
  const legend = [...new Set(table.column[part].cells)], ranks = new Map();
  for (const r of rowsOf(table)) {
    const rank = cell(table, "rank", r);
    if (!ranks.has(rank)) ranks.set(rank, { name: rankName(rank), parts: [] });
    const number = Number(cell(table, value, r)), name = cell(table, part, r);
    ranks.get(rank).parts.push({ series: legend.indexOf(name), value: number, text: `${name}, ${show(number, table.column[value])}` });
  }
  return bars(key + value, title(table), [...ranks.values()], legend, table.column[value]);
}
/// Columns side by side, the first rows of a table; with `largest`, those with the largest first value.
function columns(key, names, values, most = FIRST, largest = false) {
  const table = tables.get(key);
  if (!table?.shown) return undefined;
  const order = rowsOf(table);
  if (largest) order.sort((a, b) => Number(cell(table, values[0], b)) - Number(cell(table, values[0], a)) || a - b);
  const rows = order.slice(0, most).map((r) => ({
    name: names.map((name) => (name === "rank" ? "rank " : "") + show(cell(table, name, r), table.column[name])).filter(Boolean).join(" "),
    parts: values.map((value, i) => {
      const number = Number(cell(table, value, r)) || 0;
      return { series: i, value: number, text: `${heading(table.column[value])}, ${show(number, table.column[value])}` };
    }),
  }));
  const first = title(table) + (table.rows > rows.length ? ` (the ${largest ? "largest" : "first"} ${rows.length} rows of ${table.rows})` : "");
  return bars(key + values[0], first, rows, values.map((value) => heading(table.column[value])), table.column[values[0]]);
}
/// A bar per row, of columns that add up. `name`: row -> text.
function parts(key, name, values) {
  const table = tables.get(key);
  if (!table?.shown) return undefined;
  const used = values.filter((value) => table.column[value]?.cells.some((each) => Number(each) > 0));
  const rows = rowsOf(table).slice(0, 64).map((r) => ({
    name: name(table, r),
    parts: used.map((value, i) => {
      const number = Number(cell(table, value, r)) || 0;
      return { series: i, value: number, text: `${heading(table.column[value])}, ${show(number, table.column[value])}` };
    }),
  }));
  return bars(key + values[0], title(table), rows, used.map((value) => heading(table.column[value])), table.column[values[0]]);
}
/// The simulated time of each rank; a bar stands for all ranks that are equal.
const rankParts = () => tables.get("ranks")?.column.finish_ps && parts("ranks", (table, r) => rankName(cell(table, "rank", r)) +
  (table.identical && table.identical[r] > 1 ? ` and ${show(table.identical[r] - 1, { unit: "count" })} identical` : ""),
  ["compute_ps", "exposed_comm_ps", "exposed_storage_ps", "host_ps", "bubble_ps", "idle_ps"]);
/// Rows of a table with positive and negative values around zero.
function changes(key, names, value) {
  const table = tables.get(key);
  if (!table?.shown) return undefined;
  const column = table.column[value], rows = rowsOf(table).slice(0, 24);
  const most = Math.max(...rows.map((r) => Math.abs(Number(cell(table, value, r)))));
  if (!(most > 0)) return undefined;
  const names_of = rows.map((r) => names.map((name) => cell(table, name, r)).filter(Boolean).join(" "));
  return figure(title(table), (width) => {
    const left = Math.min(220, Math.floor(width / 3)), zero = left + (width - left) / 2, room = (width - left) / 2 - 70, high = 20;
    return canvas(width, rows.length * high + 4, svg("path", { class: "axis", d: `M${zero} 0V${rows.length * high}` }),
      ...rows.flatMap((r, i) => {
        const number = Number(cell(table, value, r)), wide = Math.abs(number) / most * room, text = (number > 0 ? "+" : "") + show(number, column);
        return [label(0, i * high + 13, names_of[i], Math.floor(left / 6.5)),
          svg("rect", { x: number < 0 ? zero - wide : zero, y: i * high + 2, width: wide, height: high - 5, class: number < 0 ? "s2" : "s3" },
            svg("title", {}, `${names_of[i]}: ${text}`)),
          label(number < 0 ? zero - wide - 4 : zero + wide + 4, i * high + 13, text, 12, number < 0 ? "end" : "start")];
      }));
  });
}
/// Ranks x kinds, a cell as strong as its share.
function heat(key, kind, share) {
  const table = tables.get(key);
  if (!table?.shown) return undefined;
  if (table.cut) return tooLarge(table);
  const kinds = [...new Set(table.column[kind].cells)], ranks = [...new Set(table.column.rank.cells)];
  const picked = ranks.length < job.ranks ? ` (${ranks.length} of ${job.ranks} ranks: at equal steps of the critical path, and the worst stragglers)` : "";
  return figure(`Share of each rank's time${picked}`, (width) => {
    const left = 64, wide = (width - left) / kinds.length, high = ranks.length > 32 ? 12 : 20, top = 18;
    const cells = rowsOf(table).map((r) => {
      const value = cell(table, share, r), x = left + kinds.indexOf(cell(table, kind, r)) * wide;
      const y = top + ranks.indexOf(cell(table, "rank", r)) * high, text = show(value, table.column[share]);
      return svg("g", {}, svg("rect", { x, y, width: Math.max(wide - 2, 1), height: high - 2, class: "cell", "fill-opacity": value * .7 }),
        svg("title", {}, `${rankName(cell(table, "rank", r))}, ${cell(table, kind, r)}: ${text}`),
        high > 12 ? label(x + 4, y + 14, text, Math.max(1, Math.floor((wide - 6) / 7.6))) : undefined);
    });
    return canvas(width, top + ranks.length * high, ...cells,
      ...kinds.map((name, i) => label(left + i * wide, 12, name, Math.max(1, Math.floor(wide / 7.6) - 1))),
      ...ranks.map((rank, i) => label(0, top + i * high + 11, rankName(rank), 10)));
  });
}
/// Values over time, a line per rank and device; only where all rows are in the page.
function lines(key, from, value, names) {
  const table = tables.get(key);
  if (!table?.shown) return undefined;
  if (table.rows > table.shown) return tooLarge(table);
  const series = new Map();
  for (const r of rowsOf(table)) {
    const name = names.map((n) => (n === "rank" ? "rank " : "") + cell(table, n, r)).join(" ");
    if (!series.has(name)) series.set(name, []);
    series.get(name).push([Number(cell(table, from, r)), Number(cell(table, value, r))]);
  }
  const drawn = [...series].slice(0, COLORS);
  const end = Math.max(...drawn.map(([, points]) => points.at(-1)[0])), most = Math.max(...drawn.flatMap(([, p]) => p.map(([, y]) => y)));
  if (!(end > 0 && most > 0)) return undefined;
  const rest = series.size > COLORS ? ` (the first ${COLORS} of ${series.size})` : "";
  return figure(title(table) + rest, (width) => {
    const high = 180, foot = high - 20;
    const paths = drawn.map(([name, points], i) => svg("path", { class: "over l" + i, d: points.map(([x, y], at) =>
      (at ? "H" + (x / end * (width - 8) + 4) + "V" : "M" + (x / end * (width - 8) + 4) + " ") + (foot - y / most * (foot - 16))).join("") },
    svg("title", {}, name)));
    return canvas(width, high, svg("path", { class: "axis", d: `M4 ${foot}H${width - 4}` }), ...paths,
      label(4, 11, show(most, table.column[value]), 20), label(4, high - 4, "0", 9),
      label(width - 4, high - 4, show(end, table.column[from]), 20, "end"));
  }, drawn.map(([name]) => name));
}
/// A value of the job's answers; null: none.
const valueOf = (key) => job.answers.flatMap((answer) => answer.values).find((value) => value.key === key)?.value ?? null;
/// Load of links over time: a strip per link, as strong as its load.
function strips() {
  const table = tables.get("link_loads");
  if (!table?.shown) return undefined;
  const links = new Map();
  for (const r of rowsOf(table)) {
    const name = cell(table, "link", r);
    if (!links.has(name)) links.set(name, []);
    links.get(name).push(r);
  }
  const end = Math.max(...rowsOf(table).map((r) => Number(cell(table, "end_ps", r))));
  const nameOf = ([name, rows]) => name + (cell(table, "links", rows[0]) > 1 ? ` and ${show(cell(table, "links", rows[0]) - 1, { unit: "count" })} equal` : "");
  return figure(`${title(table)} (${show(valueOf("loaded_links"), { unit: "count" })} links have a load): ${valueOf("link_loads_are")}`, (width) => {
    const left = Math.min(240, Math.floor(width / 3)), high = 20, room = width - left, foot = links.size * high + 14;
    return canvas(width, foot + 4, ...[...links].flatMap((each, i) => [label(0, i * high + 13, nameOf(each), Math.floor(left / 7)),
      svg("rect", { x: left, y: i * high + 1, width: room, height: high - 3, class: "over" }),
      ...each[1].map((r) => {
        const from = Number(cell(table, "start_ps", r)) / end * room, to = Number(cell(table, "end_ps", r)) / end * room;
        return svg("rect", { x: left + from, y: i * high + 1, width: Math.max(to - from, .5), height: high - 3, class: "cell", "fill-opacity": Math.min(cell(table, "share", r), 1) },
          svg("title", {}, `${nameOf(each)}, ${show(cell(table, "start_ps", r), table.column.start_ps)} to ${show(cell(table, "end_ps", r), table.column.end_ps)}: ${show(cell(table, "share", r), table.column.share)}`));
      })]), label(left, foot, "0", 9), label(width, foot, show(end, table.column.end_ps), 20, "end"));
  });
}
/// The least and the most of a column, as text.
function range(table, key) {
  const shown = [...new Set(rowsOf(table).sort((a, b) => cell(table, key, a) - cell(table, key, b)).map((r) => show(cell(table, key, r), table.column[key])))];
  return shown.length > 1 ? shown[0] + " to " + shown.at(-1) : shown[0];
}
/// Powers of ten between two exponents, so that at most `most` have a label.
const decades = (from, to, most) => [...Array(to - from + 1).keys()].map((i) => from + i).filter((power) => (power - from) % Math.ceil((to - from + 1) / most) === 0);
/// Rows of `shapes` with FLOPs and bytes, by intensity and FLOP/s, under the limits of the devices. The area of a point is its time.
function roofline(most = 400) {
  const table = tables.get("shapes"), limits = tables.get("roofline_limits"), cover = tables.get("roofline");
  if (!cover?.shown || !table?.shown) return undefined;
  const value = (key, r) => Number(cell(table, key, r));
  const all = rowsOf(table).filter((r) => value("flop_s", r) > 0 && value("intensity", r) > 0);
  if (!all.length) return undefined;
  const drawn = [...all].sort((a, b) => value("with_work_ps", b) - value("with_work_ps", a) || a - b).slice(0, most);
  const names = [...new Set(drawn.map((r) => cell(table, "types", r)))];
  const roofs = new Map();
  for (const r of rowsOf(limits)) {
    const key = [cell(limits, "device", r), cell(limits, "peak_flop_s", r)].join();
    if (!roofs.has(key)) roofs.set(key, { device: cell(limits, "device", r), peak: cell(limits, "peak_flop_s", r), memory: cell(limits, "memory_bytes_s", r), types: [] });
    roofs.get(key).types.push(cell(limits, "type", r));
  }
  const caption = `Roofline${roofs.size ? "" : " without limits, since the device is not known"}: FLOP/s by FLOPs per byte of the arguments. ` +
    `${range(cover, "placed")} of the device time is placed; ${range(cover, "bytes_only")} moves bytes without FLOPs, ` +
    `${range(cover, "communication")} is communication, ${range(cover, "no_formula")} has no formula` +
    (drawn.length < table.rows ? `. ${drawn.length} points of ${table.rows} rows` : "");
  return figure(caption, (width) => {
    const plain = (power) => {
      const [factor, unit] = decimal("FLOP/s").find(([least]) => power >= Math.log10(least) - .1) ?? [1, "FLOP/s"];
      return Number("1e" + power) / factor + " " + unit;
    };
    const left = 84, high = 340, foot = high - 36, top = 14, end = width - 12;
    const xs = drawn.map((r) => Math.log10(value("intensity", r))), ys = drawn.map((r) => Math.log10(value("flop_s", r)));
    const peaks = [...roofs.values()];
    const x0 = Math.floor(Math.min(...xs)), x1 = Math.max(x0 + 1, Math.ceil(Math.max(...xs, ...peaks.map((roof) => Math.log10(roof.peak / roof.memory) + .3))));
    const y0 = Math.floor(Math.min(...ys)), y1 = Math.max(y0 + 1, Math.ceil(Math.max(...ys, ...peaks.map((roof) => Math.log10(roof.peak)))));
    const x = (log) => left + (log - x0) / (x1 - x0) * (end - left), y = (log) => foot - (log - y0) / (y1 - y0) * (foot - top);
    const grid = [...decades(x0, x1, Math.floor((end - left) / 70)).flatMap((power) => [svg("path", { class: "axis", d: `M${x(power)} ${top}V${foot}` }),
      label(x(power), foot + 14, String(Number("1e" + power)), 9, power === x1 ? "end" : "middle")]),
    ...decades(y0, y1, 8).flatMap((power) => [svg("path", { class: "axis", d: `M${left} ${y(power)}H${end}` }), label(left - 6, y(power) + 4, plain(power), 14, "end")]),
    label(end, high - 4, "FLOP per byte", 20, "end")];
    const lines = peaks.flatMap((roof) => {
      const peak = Math.log10(roof.peak), ridge = peak - Math.log10(roof.memory), low = Math.max(x0, y0 - Math.log10(roof.memory));
      const text = `${roof.device}: ${roof.types.join(", ")} ${show(roof.peak, limits.column.peak_flop_s)}, memory ${show(roof.memory, limits.column.memory_bytes_s)}`;
      return [svg("path", { class: "roof", d: `M${x(low)} ${y(low + Math.log10(roof.memory))}L${x(Math.min(ridge, x1))} ${y(Math.min(peak, x1 + Math.log10(roof.memory)))}H${x(x1)}` }, svg("title", {}, text)),
        ridge < x1 ? label(end, y(peak) - 4, `${roof.types.join(", ")}: ${show(roof.peak, limits.column.peak_flop_s)}`, Math.floor((end - left) / 6.5), "end") : undefined].filter(Boolean);
    });
    const longest = Math.max(...drawn.map((r) => value("with_work_ps", r)));
    const points = drawn.map((r, i) => svg("circle", { cx: x(xs[i]), cy: y(ys[i]), r: 2.5 + 8 * Math.sqrt(value("with_work_ps", r) / longest), class: "point s" + names.indexOf(cell(table, "types", r)) % COLORS },
      svg("title", {}, `${cell(table, "operator", r)} ${cell(table, "shapes", r)}, rank ${cell(table, "rank", r)}: ` + ["intensity", "flop_s", "limit_flop_s", "of_the_roofline", "with_work_ps"].map((key) =>
        `${heading(table.column[key])} ${show(cell(table, key, r), table.column[key])}`).join(", "))));
    return canvas(width, high, ...grid, ...lines, ...points);
  }, names);
}

// ---- the page ----------------------------------------------------------------------------------------------------

const findingsOf = (which) => which.answers.flatMap((answer) => answer.findings);
const SECTIONS = [
  ["Claims and attacks", ["claims", "places"], () => []],
  ["Fidelity", ["fidelity"], () => []],
  ["The copy", ["guesses", "files"], () => []],
  ["Reliability", ["reliability", "measured.ranks", "measured.ranks.steps", "measured.steps"], () => []],
  ["Simulated time of ranks", ["ranks", "actors", "actors.exposed"],
    () => [rankParts(), columns("actors.exposed", ["row", "what", "group"], ["time_ps"], 24, true)]],
  ["Time", ["time"], () => [heat("time", "what_runs", "share"), stacked("time", "what_runs", "time_ps")]],
  ["Critical path", ["path_parts", "critical_path", "critical_path_bounds", "critical_path_nodes", "critical_path_edges"],
    () => [columns("path_parts", ["kind", "operation"], ["time_ps"]), stacked("critical_path_bounds", "bound", "time_ps")]],
  ["Overlap and exposed communication", ["overlap", "exposed"],
    () => [columns("overlap", ["rank"], ["overlapped_ps", "exposed_ps"], 64)]],
  ["Links", ["link_loads", "links", "congestion.shared_links"], () => [strips(), columns("links", ["from", "to"], ["busy_ps"], 24, true),
    columns("congestion.shared_links", ["link"], ["lacks_ps"])]],
  ["Storage", ["tiers", "tiers.kinds"], () => [columns("tiers", ["tier"], ["busy_ps"])]],
  ["Device time", ["devices"], () => [columns("devices", ["to", "how"], ["after_ps"])]],
  ["Collectives", ["collectives", "collectives.fitted_ranks", "collectives.fitted_nodes", "bandwidth", "message_transfers", "message_bandwidth", "bytes", "bytes_by_size"],
    () => [tables.get("collectives")?.column.total_ps
      ? columns("collectives", ["type", "group", "bytes"], ["total_ps", "wait_ps"], FIRST, true)
      : columns("collectives", ["type", "group", "size_bytes"], ["waiting_ps", "transfer_ps"]),
      columns("bandwidth", ["type", "group", "size_bytes"], ["bus"])]],
  ["Imbalance of sizes", ["imbalance", "imbalance_ranks", "imbalance_collectives"],
    () => [columns("imbalance_ranks", ["type", "group", "bytes", "rank"], ["sum_bytes"], 24)]],
  ["Stragglers and clocks", ["stragglers", "clocks"], () => [columns("stragglers", ["rank"], ["waited_for_ps"])]],
  ["Memory", ["memory_by_class", "memory", "memory_over_time"], () => [
    parts("memory_by_class", (table, r) => `${rankName(cell(table, "first_rank", r))} (${show(cell(table, "count", r), { unit: "count" })} ranks)`,
      ["parameters", "gradients", "optimizer", "activations_peak", "working", "allocator"].map((part) => "memory_per_rank." + part)),
    columns("memory", ["rank", "device"], ["peak_bytes"], 64),
    lines("memory_over_time", "from_ps", "live_bytes", ["rank", "device"])]],
  ["Kernels and operators", ["kernels", "kernel_kinds", "device_time", "operators", "shapes", "roofline", "roofline_limits", "work", "modules", "annotations",
    "sequences", "copies"], () => [stacked("kernel_kinds", "kind", "time_ps"), columns("kernels", ["rank", "name"], ["sum_ps"]), roofline(),
    columns("operators", ["rank", "operator"], ["device_ps"])]],
  ["Host, launches and queues", ["launches", "launches_each", "queue_lengths", "queue_lengths_over_time", "idle_causes"],
    () => [columns("idle_causes", ["rank", "stream", "cause"], ["time_ps"])]],
];

/// Sections about both jobs.
const COMPARED = [
  ["Differences", ["differences", "exceeding", "diagnosis_changes", "rows"], () => [changes("differences", ["kind", "operation"], "change_ps")]],
];

const heading_of_time = () => el("h2", {}, job.label + "Where the time goes");
function diagnosis() {
  const table = tables.get("diagnosis"), id = job.id;
  if (!table?.shown || !table.column.sentence) return [];
  const known = tables;
  return [heading_of_time(), el("ol", { class: "diagnosis" }, ...rowsOf(table).map((r) => {
    const evidence = known.get(cell(table, "evidence", r));
    const link = el("a", { href: "#table-" + id + cell(table, "evidence", r) }, "evidence");
    link.addEventListener("click", () => evidence.mark(cell(table, "row", r)));
    return el("li", {}, cell(table, "sentence", r) + " ", evidence ? link : undefined);
  }))];
}
const factList = (list) => el("dl", { class: "facts" }, ...list.map(([name, value, title]) =>
  el("div", value.length > 24 ? { title, class: "long" } : { title }, el("dt", {}, name), el("dd", {}, value))));
const fact = (value) => [heading(value), show(value.value, value), meaning(value, value.value)];
/// Values of a simulation that are facts of the first screen, with names.
const FACTS = { makespan_ps: "Simulated step", network: "Network", mode: "Rules", transfers: "Transfers", "congestion.mode": "Contention model",
  "congestion.closed_misses_ps": "Shared links may add", "measured.measured_ps": "Measured", "measured.simulated_transfers.error": "Off the measurement",
  "throughput.tokens_per_s": "Tokens per second", "throughput.mfu": "MFU", "link_use.links": "Links with traffic",
  "link_use.most_busy_ps": "Busiest link", "link_use.median_busy_ps": "Median link" };
const longestPath = (paths) => rowsOf(paths).reduce((a, b) => Number(cell(paths, "length_ps", b)) > Number(cell(paths, "length_ps", a)) ? b : a, 0);
function facts() {
  const list = [["Ranks", show(job.ranks, { unit: "count" }), "ranks of the job"]];
  const paths = tables.get("critical_path");
  if (paths?.shown && paths.column.length_ps) {
    const longest = longestPath(paths);
    for (const [key, name] of [["length_ps", "Longest critical path"], ["replay_ps", "Replay of that rank"], ["measured", "Times are measured"]])
      list.push([name, show(cell(paths, key, longest), paths.column[key]) + (key === "length_ps" ? `, rank ${cell(paths, "rank", longest)}` : ""),
        meaning(paths.column[key], cell(paths, key, longest))]);
  }
  for (const answer of job.answers) {
    if (answer.verb === "certify") list.push(...answer.values.map(fact));
    if (answer.verb === "sim")
      for (const value of answer.values.filter((each) => FACTS[each.key] && each.value !== null))
        list.push([FACTS[value.key], show(value.value, value), meaning(value, value.value)]);
  }
  for (const severity of ["error", "warning", "note"]) {
    const count = findingsOf(job).filter((finding) => finding.severity === severity).length;
    if (count) list.push([severity[0].toUpperCase() + severity.slice(1) + "s", String(count), "findings with this severity, below"]);
  }
  return factList(list);
}
/// The largest parts of the time of the rank with the longest critical path.
function spent() {
  const paths = tables.get("critical_path"), time = tables.get("time");
  if (!paths?.shown || !paths.column.length_ps || !time?.shown) return [];
  const rank = cell(paths, "rank", longestPath(paths));
  const large = rowsOf(time).filter((r) => cell(time, "rank", r) === rank && cell(time, "share", r) >= .005)
    .sort((a, b) => cell(time, "share", b) - cell(time, "share", a)).slice(0, 3).map((r) => {
      const link = el("a", { href: "#table-" + job.id + "time" }, "evidence");
      link.addEventListener("click", () => time.mark(placeOf(time, r)));
      return el("li", {}, `${show(cell(time, "share", r), time.column.share)} of the time: ${cell(time, "what_runs", r)}, ${show(cell(time, "time_ps", r), time.column.time_ps)}. `, link);
    });
  return large.length ? [el("h3", {}, `${job.label}Rank ${rank}, which has the longest critical path`), el("ol", { class: "diagnosis" }, ...large)] : [];
}
/// Where the time of a simulation goes: a sentence for each of the largest parts of the critical path, and the errors.
function predicted() {
  const path = tables.get("path_parts"), errors = tables.get("reliability");
  if (!errors?.shown) return [];
  const link = (key) => el("a", { href: "#table-" + job.id + key }, "evidence");
  const row = (text, key) => el("li", {}, text + " ", link(key));
  const large = rowsOf(path).slice(0, 3).filter((r) => cell(path, "share", r) >= .005).map((r) => row(`${show(cell(path, "share", r), path.column.share)} of the critical path: ` +
    `${cell(path, "kind", r)}${cell(path, "operation", r) ? " " + cell(path, "operation", r) : ""}, ${show(cell(path, "time_ps", r), path.column.time_ps)}.`, "path_parts"));
  const known = rowsOf(errors).map((r) => row(`${cell(errors, "what", r)}: ` + (cell(errors, "error", r) === null ? "error not known"
    : `off by ${show(cell(errors, "error", r), errors.column.error)}`) + ` (${cell(errors, "basis", r)}).`, "reliability"));
  const before = tables.get("diagnosis")?.shown ? el("h3", {}, job.label + "Critical path") : heading_of_time();
  return [...(large.length ? [before, el("ol", { class: "diagnosis" }, ...large)] : []),
    el("h2", {}, job.label + "Reliability of the prediction"), el("ul", { class: "diagnosis" }, ...known)];
}
const idOf = (title) => "section-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
/// A section about one job, or the parts of two jobs side by side.
function section(title, keys, figures, jobs) {
  const shown = jobs.map((each) => keys.map((key) => each.tables.get(key)).filter((table) => table?.shown));
  if (shown.every((all) => !all.length)) return undefined;
  const drawn = jobs.map((each) => withJob(each, () => figures().filter(Boolean)));
  const parts = jobs.length < 2 ? drawn[0] : drawn.some((all) => all.length) ? [el("div", { class: "sides" }, ...drawn.map((all) => el("div", {}, ...all)))] : [];
  return { title, id: idOf(title), element: el("section", { id: idOf(title) }, el("h2", {}, title), ...parts,
    ...shown.flatMap((all, i) => withJob(jobs[i], () => all.map(tableElement)))) };
}
function findingsSection() {
  const subjects = [...data.jobs, both], title = "Findings", id = idOf(title);
  const cut = subjects.flatMap((each) => each.answers).filter((answer) => answer.all_findings > answer.findings.length).map((answer) =>
    el("p", { class: "quiet" }, `${answer.all_findings - answer.findings.length} more: ${answer.command}`));
  const items = subjects.flatMap((each) => findingsOf(each).map((finding) => el("li", {},
    el("span", { class: finding.severity === "error" ? "error" : "quiet" }, each.label + finding.severity + ": "),
    (finding.rank === undefined ? "" : `rank ${finding.rank}: `) + (finding.node === undefined ? "" : `node ${finding.node}: `) +
    finding.text + " ", el("code", {}, `[${finding.tag}]`))));
  return { title, id, element: el("section", { id }, el("h2", {}, title),
    items.length ? el("ul", {}, ...items) : el("p", {}, "No findings."), ...cut) };
}
/// Values of a comparison that are facts of the first screen, with names.
const COMPARED_FACTS = { "step.a_ps": "Step A", "step.b_ps": "Step B", "step.change": "Change", "step.spread_a": "Spread of steps A",
  "step.spread_b": "Spread of steps B", "nodes.a": "Nodes A", "nodes.b": "Nodes B", "nodes.added": "Nodes added",
  "nodes.removed": "Nodes removed", "nodes.changed": "Nodes changed" };
/// The step of both jobs, and how it changed.
function comparison() {
  const step = both.tables.get("differences");
  const list = step?.shown ? [["a_ps", "Step A"], ["b_ps", "Step B"], ["change_ps", "Change"], ["share", "Change, by step A"]].map(([key, name]) =>
    [name, show(cell(step, key, 0), step.column[key]), meaning(step.column[key], cell(step, key, 0))]) : [];
  const values = new Map(both.answers.flatMap((answer) => answer.values).map((value) => [value.key, value]));
  for (const [key, name] of Object.entries(COMPARED_FACTS)) {
    const value = values.get(key);
    if (value && value.value !== null) list.push([name, show(value.value, value), meaning(value, value.value)]);
  }
  return list.length ? [el("h2", {}, "Comparison"), factList(list)] : [];
}
const known = new Set([...SECTIONS, ...COMPARED].flatMap(([, keys]) => keys));
const others = (subjects) => [...new Set(subjects.flatMap((each) => [...each.tables.keys()]))].filter((key) => !known.has(key));
function timelineSection() {
  const all = data.jobs.filter((each) => each.timeline), length = Math.max(...all.map((each) => Number(each.timeline.length_ps)));
  const drawn = all.map((each) => [el("h3", {}, each.label + each.name),
    timeline(each.timeline, length, each.label + each.name, (ps) => SHOW.ps(ps), ({ rank, track, depth }) => `rank ${rank}, ${track}` + (depth ? ` (${depth + 1})` : ""))]);
  if (!drawn.length) return undefined;
  return { title: "Timeline", id: "section-timeline", element: el("section", { id: "section-timeline" }, el("h2", {}, "Timeline"), ...drawn.flat(),
    el("p", { class: "quiet" }, "Select the timeline, then: A and D move, W, S and the wheel zoom, arrows up and down scroll, 0 shows all. N and shift-N go to the next match and the one before. " +
      "A click or Enter selects an operation and shows its dependencies, messages and collective; [ and ] select the one before and after, Escape none. " +
      "C jumps to the critical path, the comma and the point move along it, F shows the flows between ranks.")) };
}
const sections = [timelineSection()].concat([...COMPARED, ["Other differences", others([both]), () => []]].map((each) => section(...each, [both])),
  [...SECTIONS, ["Other tables", others(data.jobs), () => []]].map((each) => section(...each, data.jobs))).filter(Boolean);
sections.push(findingsSection());
const empty = [...new Set(data.jobs.flatMap((each) => [...each.tables.values()]).filter((table) => !table.shown && !table.key.includes(".")).map(title))];
const name = data.jobs.map((each) => each.name).join(" and ");
const heads = data.jobs.map((each) => withJob(each, () => el("div", {}, two ? el("h2", {}, each.label + each.name) : undefined, facts(), ...diagnosis(), ...spent(), ...predicted())));
document.title = "chakra report: " + name;
page.append(el("main", {}, el("h1", {}, name), ...comparison(), ...(two ? [el("div", { class: "sides" }, ...heads)] : heads),
  el("nav", { "aria-label": "Sections" }, el("ul", {}, ...sections.map(({ id, title }) => el("li", {}, el("a", { href: "#" + id }, title))))),
  ...sections.map(({ element }) => element),
  empty.length ? el("p", { class: "quiet" }, "Tables without rows: " + empty.join("; ") + ".") : undefined));
