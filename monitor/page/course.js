// How a run went: its losses, what the test part came to, speed and world; and
// what interrupted it. Shared by the live page and the report.
"use strict";

// Of whole numbers and small parts alike.
const short = v => v === 0 ? "0" : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5
  ? Number(v.toPrecision(3)).toString() : v.toExponential(1);

// Series of workers are many, and have plots of their own.
const is_of_course = name => !name.includes("/") &&
  (name.startsWith("test_") || ["loss", "samples_per_s", "world"].includes(name));

// plots: {loss, test, speed, world}; series: as GET /v1/series answers; at: of
// its t_s, seconds of the plots; base: options of every plot.
function show_course(plots, series, at, base) {
  const points = (name, key = "mean") => series[name] === undefined ? []
    : series[name].t_s.map((t, i) => [at(t), series[name][key][i]]);
  const line = (name, label, tone) => ({name: label, tone, look: "line", points: points(name)});
  plots.loss.show([line("loss", "in training", "c0"), line("test_loss", "of the test part", "c1")],
    {...base, most: 0, format: short});
  const test = Object.keys(series).filter(n => n.startsWith("test_") && n !== "test_loss").sort();
  // Metrics from 0 to 1 share a plot; others, as errors in dollars, do only if
  // there are no such.
  const parts = test.filter(n => series[n].most.every(v => v <= 1) &&
    series[n].least.every(v => v >= 0));
  plots.test.box.hidden = !test.length; // of a model that says nothing of a row
  plots.test.show((parts.length ? parts : test).slice(0, 8).map((n, i) =>
    line(n, n.slice(5).replaceAll("_", " "), `c${i}`)), {...base, most: 0, format: short});
  plots.speed.show([line("samples_per_s", "of all workers", "c0")],
    {...base, most: 1, format: count});
  plots.world.show([{name: "workers", tone: "c0", look: "area", points: points("world", "least")}],
    {...base, most: 1, format: count});
}

// A bar for each: [name, {cause: seconds}]. Causes without time are left out.
const causes = ["compute", "communication", "straggler", "data", "evaluation",
  "recovery", "start", "waiting", "paused", "other"];
function show_times(table, rows) {
  const known = causes.filter(c => rows.some(([, time]) => time[c] > 0));
  const legend = document.createElement("span");
  for (const cause of known)
    legend.append(element("span", "", `swatch t${causes.indexOf(cause)}`), cause + " ");
  const head = table_row("th", [["", ""], [legend, "text phases"], ["", ""]]);
  table.replaceChildren(head, ...rows.map(([name, time]) => {
    const all = known.reduce((sum, c) => sum + (time[c] || 0), 0) || 1;
    const bar = svg_node("svg", {class: "bar wide", viewBox: "0 0 100 1",
                                 preserveAspectRatio: "none", role: "img"});
    bar.setAttribute("aria-label", known.map(c => `${c} ${percent(time[c] / all)}`).join(", "));
    let x = 0;
    for (const cause of known) {
      const width = 100 * (time[cause] || 0) / all;
      svg_node("rect", {class: `t${causes.indexOf(cause)}`, x, y: 0, width, height: 1}, bar)
        .append(svg_node("title", {}));
      bar.lastChild.lastChild.textContent = `${cause}: ${percent((time[cause] || 0) / all)}`;
      x += width;
    }
    return table_row("td", [[name, "text"], [bar, "text whole"],
      [`${percent((time.compute || 0) / all)} compute`, ""]]);
  }));
}

const phases = ["detect", "fence", "plan", "open", "sync", "first_step"];

// A row for each time that training stood still and went on: its phases as a
// bar, in ms. interruptions: events of kind "generation" with "phases_ms".
function show_interruptions(table, interruptions, at) {
  const longest = Math.max(1, ...interruptions.map(e => e.ms));
  const legend = document.createElement("span");
  legend.append(...phases.map((name, i) => {
    const word = element("span", element("span", "", `swatch c${i}`));
    word.append(name.replace("_", " ") + " ");
    return word;
  }));
  table.replaceChildren(table_row("th", [["at", ""], ["before step", ""], ["stood still", ""],
    [legend, "text phases"], ["because", "text"]]),
    ...interruptions.map(e => {
      const bar = svg_node("svg", {class: "bar", viewBox: "0 0 200 12",
                                   preserveAspectRatio: "none", role: "img"});
      const spent = phases.map(name => [name, Number(e.phases_ms[name]) || 0]);
      bar.setAttribute("aria-label",
        spent.map(([name, ms]) => `${name.replace("_", " ")} ${ms.toFixed(1)} ms`).join(", "));
      let x = 0;
      spent.forEach(([, ms], i) => {
        const width = 200 * ms / longest;
        svg_node("rect", {class: `area solid c${i}`, x, y: 0, width, height: 12}, bar);
        x += width;
      });
      return table_row("td", [[clock(at(e.t_ns / 1e9)), ""], [count(e.step), ""],
        [`${e.ms.toFixed(0)} ms`, ""], [bar, "text"], [e.reason, "text reason"]]);
    }));
}
