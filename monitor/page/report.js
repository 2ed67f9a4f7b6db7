// The report of a run, from the data in the same file.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);
const plots = Object.fromEntries(["loss", "test", "speed", "world", "share", "skew"]
  .map(id => [id, new Plot(by(id))]));
const begin_s = data.begin_ns / 1e9, end_s = data.end_ns / 1e9;
const at = t => t - begin_s;

const fact = (name, value) => by("facts").append(fact_box(name, value));

function show_outcome() {
  const report = data.report || {}, state = report.state || "not ended";
  by("name").textContent = `Ballast: ${data.name}`;
  document.title = `${data.name}: report`;
  by("state").textContent = state;
  by("state").className = "chip " + ({done: "good", failed: "bad"}[state] || "warn");
  by("trouble").textContent = [report.error, report.reason, ...data.troubles]
    .filter(Boolean).join("; ");
  const numbers = [["steps", count], ["samples", count], ["wall_s", v => `${short(v)} s`],
    ["samples_per_s", count], ["train_loss", short], ["test_loss", short]];
  for (const [name, format] of numbers)
    if (typeof report[name] === "number")
      fact(name.replace("wall_s", "took").replaceAll("_", " "), format(report[name]));
  for (const [name, value] of Object.entries(report.test_metrics || {}))
    if (!Array.isArray(value))
      fact(`test ${name.replaceAll("_", " ")}`, value === null ? "undefined" : short(value));
  if (report.best)
    fact(`best ${report.best.metric.replaceAll("_", " ")}`,
      `${short(report.best.value)}, step ${count(report.best.step)}`);
  if (report.audit)
    fact("audit", `${count(report.audit.once)} once, ${count(report.audit.lost)} lost, ` +
      `${count(report.audit.repeated)} repeated`);
  if (report.parent)
    fact("goes on from", `${report.parent.run}, step ${count(report.parent.step)}`);
  by("report").textContent = data.report ? JSON.stringify(data.report, null, 2)
    : "There is no report.json: the run has not ended, or was killed.";
  by("job").textContent = JSON.stringify(data.job, null, 2);
}

const tones = new Map();
function tone(name) {
  if (!tones.has(name)) tones.set(name, `c${tones.size % 8}`);
  return tones.get(name);
}

function draw() {
  const marks = data.events.filter(e => ["balance", "generation", "fault", "worker_lost"]
    .includes(e.kind)).map(e => ({t: at(e.t_ns / 1e9), kind: event_class[e.kind]}));
  const base = {from: 0, to: Math.max(1, at(end_s)), marks};
  show_course(plots, data.series, at, base);
  const plans = data.events.filter(e => e.rows !== null && typeof e.rows === "object");
  const names = [...new Set(plans.flatMap(p => Object.keys(p.rows)))]
    .sort(new Intl.Collator("en", {numeric: true}).compare);
  const sum = p => Object.values(p.rows).reduce((a, b) => a + b, 0) || 1;
  const of = value => plans.map(p => [at(p.t_ns / 1e9), value(p) ?? null]);
  plots.share.show(names.map(n => ({name: n, tone: tone(n), look: "band",
    points: of(p => p.rows[n] === undefined ? null : p.rows[n] / sum(p))})),
    {...base, most: 1, format: percent});
  plots.skew.show(names.map(n => ({name: n, tone: tone(n), look: "line",
    points: of(p => (p.skew_tv || {})[n])})), {...base, most: 0.1, format: percent});
}

function show_events() {
  by("left_out").textContent = data.left_out
    ? `${count(data.left_out)} more events are only in events.jsonl.` : "";
  by("events").replaceChildren(
    ...data.events.map(event => event_line(event, at(event.t_ns / 1e9))));
}

const interruptions = data.events.filter(e => e.kind === "generation" && e.phases_ms);
by("uninterrupted").textContent = interruptions.length ? ""
  : "None: training never stood still for a worker that was lost.";
show_outcome();
if (interruptions.length) show_interruptions(by("interruptions"), interruptions, at);
if (data.report && data.report.time_s) {
  by("spent").hidden = false;
  show_times(by("times"), [["all workers", data.report.time_s]]);
}
show_events();
draw();
by("routine").addEventListener("change",
  e => by("events").classList.toggle("all", e.target.checked));
window.addEventListener("resize", draw);
