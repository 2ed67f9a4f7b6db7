// Some runs over each other, from the data in the same file.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);
const runs = data.runs;
// Two runs may have the same name.
const label = (run, i) => runs.some((other, k) => k !== i && other.name === run.name)
  ? `${run.name} (${i + 1})` : run.name;

// A plot for each series that some run has.
const names = [...new Set(runs.flatMap(run => Object.keys(run.series)))].filter(is_of_course)
  .sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
function order(name) {
  const first = ["loss", "test_loss", "samples_per_s", "world"].indexOf(name);
  return first < 0 ? 9 : first;
}
const titles = {loss: "Loss in training", test_loss: "Loss of the test part",
  samples_per_s: "Samples per second", world: "Workers that train"};
const plots = names.map(name => {
  const box = document.createElement("section"), head = document.createElement("h2");
  box.className = "plot";
  box.id = name;
  head.textContent = titles[name] || `Test: ${name.slice(5).replaceAll("_", " ")}`;
  box.append(head);
  by("plots").append(box);
  return new Plot(box);
});

function draw() {
  const steps = by("over").value === "step";
  const place = (run, s, i) => steps ? s.step[i] : s.t_s[i] - run.begin_ns / 1e9;
  const last = runs.map(run => Math.max(0, ...Object.values(run.series).map(s =>
    s.step.length ? place(run, s, s.step.length - 1) : 0)));
  names.forEach((name, n) => plots[n].show(runs.map((run, i) => {
    const s = run.series[name];
    return {name: label(run, i), tone: `c${i % 8}`, look: "line", points: s === undefined ? []
      : [...s.step.map((_, k) => [place(run, s, k), s.mean[k]]),
         [last[i], null]]}; // it ends there
  }), {from: 0, to: Math.max(1, ...last), marks: [], most: 0,
       format: name === "world" || name === "samples_per_s" ? count : short,
       clock: steps ? count : undefined}));
}

function table(box, head, rows) {
  const line = (kind, cells) => table_row(kind, cells.map((content, i) =>
    [content, i === 0 ? "text reason" : ""]));
  box.replaceChildren(line("th", head), ...rows.map(cells => line("td", cells)));
}

const value_of = v => v === undefined || v === null ? "–" : typeof v === "number" ? short(v)
  : String(v);
const heads = ["", ...runs.map(label)];
const report = run => run.report || {state: "not ended"};
const outcomes = ["state", "steps", "samples", "wall_s", "samples_per_s", "train_loss",
  "test_loss"].map(key => [key.replaceAll("_", " "), ...runs.map(run => value_of(report(run)[key]))]);
const metrics = [...new Set(runs.flatMap(run => Object.entries(report(run).test_metrics || {})
  .filter(([, v]) => !Array.isArray(v)).map(([name]) => name)))];
for (const name of metrics)
  outcomes.push([`test ${name.replaceAll("_", " ")}`,
    ...runs.map(run => value_of((report(run).test_metrics || {})[name]))]);
outcomes.push(["weights", ...runs.map(run => (report(run).weights_sha256 || "–").slice(0, 12))]);
table(by("outcomes"), heads, outcomes);
by("alike").textContent = data.differences.length ? "" : "Nothing: they are the same.";
if (data.differences.length)
  table(by("differences"), heads, data.differences.map(one => [one.pointer,
    ...one.values.map(v => v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v))]));
by("trouble").textContent = runs.flatMap((run, i) =>
  run.troubles.map(t => `${label(run, i)}: ${t}`)).join("; ");
draw();
by("over").addEventListener("change", draw);
window.addEventListener("resize", draw);
