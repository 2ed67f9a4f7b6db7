// Polls the state of the run every second and subscribes to its events. What was
// before the page was opened is in the series of the coordinator, and the history
// of shares is rebuilt from the events.
"use strict";

const by = id => document.getElementById(id);
const points_max = 1500, events_max = 300, interruptions_max = 20, times_max = 16;
const window_s = 0.25; // least observation time of balancing
const series_points = 600, series_every_ms = 2000;
const plots = Object.fromEntries(
  ["loss", "test", "speed", "world", "share", "skew", "makespan", "moved"]
  .map(id => [id, new Plot(by(id))]));

let run; // its name; everything below belongs to it
let past, events, interruptions, series, stream, last, retry_at = 0, series_at = 0;

function begin(name) {
  run = name;
  past = []; // {t, rows: {worker: n}, skew: {worker: v}, most, ratio, moved, bound}
  events = [];
  interruptions = []; // newest first
  series = {}; // name: {t_s, step, mean, least, most}
  last = {moved: 0, bound: 0, seq: 0, begun: null, tones: new Map()};
  by("events").replaceChildren();
  if (stream) stream.close();
  stream = null;
}

const seconds = t_ns => {
  if (last.begun === null || t_ns < last.begun) last.begun = t_ns;
  return t_ns / 1e9;
};
const since_begin = t => t - last.begun / 1e9;

// Each worker keeps its colour.
function tone(name) {
  if (!last.tones.has(name)) last.tones.set(name, `c${last.tones.size % 8}`);
  return last.tones.get(name);
}

function remember(point) {
  past.push(point);
  past.sort((a, b) => a.t - b.t);
  if (past.length > points_max) // halve the resolution of the older half
    past = past.filter((_, i) => i > points_max / 2 || i % 2 === 0);
}

async function take_series() {
  if (!run || Date.now() < series_at) return;
  series_at = Date.now() + series_every_ms;
  const read = async query => (await fetch("v1/series" + query, {cache: "no-store"})).json();
  const names = (await read("")).names.filter(is_of_course).map(encodeURIComponent);
  if (!names.length) return;
  series = (await read(`?points=${series_points}&names=${names.join(",")}`)).series;
  draw_soon();
}
const before_of = t => past.filter(p => p.t <= t).pop();

function follow() {
  if (stream && stream.readyState !== EventSource.CLOSED) return;
  if (!run || Date.now() < retry_at) return;
  retry_at = Date.now() + 5000;
  stream = new EventSource("v1/events?after=" + last.seq);
  stream.onmessage = message => take_event(JSON.parse(message.data));
}

function take_event(event) {
  if (event.seq <= last.seq) return;
  last.seq = event.seq;
  const t = seconds(event.t_ns);
  if (typeof event.rows === "object") { // by worker; in a move it is a number
    if (event.moved_rows_total !== undefined)
      [last.moved, last.bound] = [event.moved_rows_total, event.bound_rows_total];
    // A plan uses the best known split, so the ratio is 1 until speeds change.
    const before = event.makespan_ratio_before, ratio = before === undefined ? null : 1;
    if (before !== undefined && before_of(t - window_s))
      remember({...before_of(t - window_s), t: t - window_s, ratio: before});
    remember({t, rows: event.rows, skew: event.skew_tv, most: event.skew_tv_max,
              ratio, moved: last.moved, bound: last.bound});
  }
  if (event.kind === "generation" && event.phases_ms) interruptions.unshift(event);
  if (interruptions.length > interruptions_max) interruptions.pop();
  events.push({t, kind: event.kind});
  if (events.length > events_max) events.shift();
  by("events").prepend(event_line(event, since_begin(t)));
  while (by("events").children.length > events_max) by("events").lastChild.remove();
  draw_soon();
}

const name_order = new Intl.Collator("en", {numeric: true});
function take_status(status) {
  if (status.run !== run) begin(status.run);
  const workers = (status.workers || []).sort((a, b) => name_order.compare(a.name, b.name));
  const members = workers.filter(w => w.rows_owned !== undefined && w.state !== "lost");
  if (status.balance && members.length) {
    const of = key => Object.fromEntries(members.map(w => [w.name, w[key]]));
    remember({t: seconds(status.t_ns), rows: of("rows_owned"), skew: of("skew_tv"),
              most: status.skew_tv_max, ratio: status.balance.makespan_ratio,
              moved: status.balance.moved_samples, bound: status.balance.moved_bound_samples});
  }
  follow();
  show_facts(status, members);
  show_spent(status, workers);
  show_workers(workers, members);
  draw_soon();
}

// Those that are one number; null: undefined.
function test_facts(status) {
  return Object.entries(status.test_metrics || {})
    .filter(([name, value]) => name !== "accuracy" && !Array.isArray(value))
    .map(([name, value]) => [`test ${name.replaceAll("_", " ")}`,
                             value === null ? "undefined" : value.toPrecision(4)]);
}

function show_facts(status, members) {
  by("name").textContent = status.run ? `Ballast: ${status.run}` : "Ballast";
  document.title = by("name").textContent;
  by("state").textContent = status.state;
  by("state").className = "chip " + ({training: "good", done: "good", failed: "bad",
    recovering: "warn", waiting: "warn", paused: "warn"}[status.state] || "");
  by("progress").value = status.steps_total ? status.step / status.steps_total : 0;
  const facts = !status.run ? [] : [
    ["epoch", `${count(status.epoch)} / ${count(status.epochs)}`],
    ["step", `${count(status.step)} / ${count(status.steps_total)}`],
    ["loss", status.loss === null ? "–" : status.loss.toPrecision(4)],
    ["test accuracy", status.test_accuracy === undefined ? null : percent(status.test_accuracy)],
    ...test_facts(status),
    ["samples/s", count(status.samples_per_s)],
    ["workers", status.waiting_for_workers ? `${members.length} of ${status.waiting_for_workers}`
      : count(members.length)],
    ["generation", status.generation],
    ["plan", status.plan],
    ["largest skew", percent(status.skew_tv_max)],
    ["moves in flight", count((status.moves || []).length)],
    ["balance", String(status.balance.code).toLowerCase().replaceAll("_", " ")],
  ];
  if (status.error) facts.push(["error", status.error]);
  by("balance").textContent = status.run ? words_of_balance(status.balance) : "";
  by("facts").replaceChildren(...facts.filter(f => f[1] !== null && f[1] !== undefined)
    .map(([name, value]) => fact_box(name, value)));
}

// Of many workers those that compute least of their time.
function show_spent(status, workers) {
  const known = workers.filter(w => w.time_s && w.state !== "lost");
  by("spent").hidden = !known.length;
  by("bound").textContent = status.bound || "";
  const sum = {}, part = w => w.time_s.compute /
    (Object.values(w.time_s).reduce((a, b) => a + b, 0) || 1);
  for (const w of known)
    for (const [cause, time] of Object.entries(w.time_s)) sum[cause] = (sum[cause] || 0) + time;
  const shown = known.length <= times_max ? known
    : [...known].sort((a, b) => part(a) - part(b)).slice(0, times_max);
  show_times(by("times"), [[`all ${known.length}`, sum], ...shown.map(w => [w.name, w.time_s])]);
}

// Column: header, value of a worker, class.
const columns = [
  ["worker", w => w.name, "text"], ["state", w => w.state, "text"],
  ["share", (w, rows) => w.rows_owned === undefined ? "–" : percent(w.rows_owned / rows)],
  ["rows", w => w.rows_owned], ["batch", w => w.batch], ["samples/s", w => w.samples_per_s],
  ["skew", w => w.skew_tv === undefined ? "–" : percent(w.skew_tv)],
  ["heartbeat", w => typeof w.heartbeat_age_s === "number" ? w.heartbeat_age_s.toFixed(1) + " s" : "–", "spare"],
  ["rank", w => w.rank, "spare"], ["device", w => w.device, "text spare"],
  ["host", w => w.host, "text spare"], ["phase", w => w.phase, "text spare"],
];
function show_workers(workers, members) {
  const rows = members.reduce((sum, w) => sum + w.rows_owned, 0) || 1, table = by("workers");
  const line = (kind, cells) => {
    const out = document.createElement("tr");
    cells.forEach((content, i) => {
      const cell = document.createElement(kind);
      cell.className = columns[i][2] || "";
      cell.textContent = content === null || content === undefined ? "–"
        : typeof content === "number" ? count(content) : content;
      out.append(cell);
    });
    return out;
  };
  const lines = workers.map(w => {
    const out = line("td", columns.map(c => c[1](w, rows)));
    const swatch = document.createElement("span");
    swatch.className = "swatch " + (members.includes(w) || last.tones.has(w.name) ? tone(w.name) : "");
    out.firstChild.prepend(swatch);
    return out;
  });
  table.replaceChildren(line("th", columns.map(c => c[0])), ...lines);
}

let drawing = false;
function draw_soon() { // one redraw for many events
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => { drawing = false; draw(); });
}

function draw() {
  if (!past || !past.length) return;
  const to = since_begin(past[past.length - 1].t);
  const from = Math.max(since_begin(past[0].t), to - Number(by("span").value));
  const of = value => past.map(p => [since_begin(p.t), value(p) ?? null]);
  const marks = events.filter(e => ["balance", "generation", "fault", "worker_lost"]
    .includes(e.kind)).map(e => ({t: since_begin(e.t), kind: event_class[e.kind]}));
  by("interrupted").hidden = !interruptions.length;
  if (interruptions.length)
    show_interruptions(by("interruptions"), interruptions, t => since_begin(seconds(t * 1e9)));
  const base = {from, to: Math.max(to, from + 1), marks};
  const names = [...new Set(past.flatMap(p => Object.keys(p.rows)))].sort(name_order.compare);
  const sum = p => Object.values(p.rows).reduce((a, b) => a + b, 0) || 1;
  show_course(plots, series, t => since_begin(seconds(t * 1e9)), base);
  plots.share.show(names.map(n => ({name: n, tone: tone(n), look: "band",
    points: of(p => p.rows[n] === undefined ? null : p.rows[n] / sum(p))})), {...base, most: 1, format: percent});
  plots.skew.show([...names.map(n => ({name: n, tone: tone(n), look: "line",
    points: of(p => p.skew[n])})),
    {name: "largest", tone: "", look: "dashed", points: of(p => p.most)}],
    {...base, most: 0.1, format: percent});
  plots.makespan.show([{name: "now over best", tone: "c0", look: "line", points: of(p => p.ratio)}],
    {...base, least: 1, most: 1.1, limit: 1, format: ratio});
  plots.moved.show([
    {name: "moved", tone: "c0", look: "area", points: of(p => p.moved)},
    {name: "had to", tone: "", look: "dashed", points: of(p => p.bound)}],
    {...base, most: 1, format: count});
}

async function refresh() {
  try {
    const reply = await fetch("v1/status", {cache: "no-store"});
    if (!reply.ok) throw new Error(`${reply.status} ${reply.statusText}`);
    const status = await reply.json();
    take_status(status);
    await take_series();
    by("trouble").textContent = status.trouble || "";
  } catch (error) {
    by("trouble").textContent =
      `No answer from the coordinator (${error.message}). Below is what it said last.`;
  }
  setTimeout(refresh, 1000);
}

by("span").addEventListener("change", draw_soon);
by("routine").addEventListener("change",
  e => by("events").classList.toggle("all", e.target.checked));
window.addEventListener("resize", draw_soon);
refresh();
