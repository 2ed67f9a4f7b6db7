// Plots of a run over time, as SVG. Chart.js, Debian's library for this, would
// add 200 kB to the program; these plots need only steps, bands and marks. Tests
// can read an SVG plot from the document.
"use strict";

const place = {left: 46, right: 8, top: 8, bottom: 20, height: 210};

function svg_node(kind, attributes, parent) {
  const out = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  if (parent) parent.append(out);
  return out;
}

// Round numbers that divide 0..most into at most `count` parts.
function ticks(from, to, count) {
  const rough = (to - from) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough * 0.999);
  const out = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-6; ++at)
    out.push(at * step || 0); // no -0
  return out;
}

// Ticks of a time axis in units of a clock.
function time_ticks(from, to, count) {
  const steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200];
  const step = steps.find(s => s * count >= to - from);
  if (!step) return ticks(from, to, count);
  const out = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) out.push(at);
  return out;
}

// A value holds until the next one.
function step_path(points, x, y, end) {
  let path = "";
  points.forEach(([t, v], i) => {
    if (v === null || v === undefined) return;
    const next = i + 1 < points.length ? points[i + 1][0] : end;
    path += (path && points[i - 1][1] !== null ? "L" : "M") +
      `${x(t)} ${y(v)}L${x(next)} ${y(v)}`;
  });
  return path;
}

// series: [{name, tone, points: [[t, value or null]], look: line|dashed|area}],
// look "band" stacks them; options: {from, to, least, most, format, limit,
// marks: [{t, kind}], clock: of what is no time, as steps}. Redraws itself in `box`.
class Plot {
  constructor(box) {
    this.box = box;
    this.svg = svg_node("svg", {role: "img"}, box);
    this.svg.setAttribute("aria-label", box.querySelector("h2").textContent);
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    box.append(this.legend);
    this.at = null; // position of the pointer, in seconds
    this.svg.addEventListener("pointermove", e => this.point(e));
    this.svg.addEventListener("pointerleave", () => { this.at = null; this.draw(); });
  }
  point(event) {
    if (!this.options) return;
    const {from, to} = this.options, whole = this.width - place.left - place.right;
    const x = event.clientX - this.svg.getBoundingClientRect().left - place.left;
    this.at = from + Math.min(1, Math.max(0, x / whole)) * (to - from);
    this.draw();
  }
  show(series, options) {
    this.series = series;
    this.options = options;
    this.draw();
  }
  draw() {
    if (!this.options) return;
    const {from, to, format} = this.options;
    this.width = Math.max(200, this.svg.clientWidth || 0);
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${place.height}`);
    const bands = this.stack(this.series.filter(s => s.look === "band"));
    const seen = [...this.series.filter(s => s.look !== "band"), ...bands]
      .flatMap(s => s.points.filter((p, i) => (s.points[i + 1] || [to])[0] >= from)
        .map(p => p[1]));
    const least = this.options.least || 0;
    const most = Math.max(this.options.most, ...seen.filter(v => v !== null)) || 1;
    const floor = place.height - place.bottom, right = this.width - place.right;
    const x = t => (place.left + (Math.max(t, from) - from) / (to - from) *
                    (right - place.left)).toFixed(1);
    const y = v => (floor - (v - least) / (most - least) * (floor - place.top)).toFixed(1);
    for (const v of ticks(least, most, 4)) {
      svg_node("line", {class: "grid", x1: place.left, x2: right, y1: y(v), y2: y(v)}, this.svg);
      svg_node("text", {x: place.left - 6, y: +y(v) + 4, "text-anchor": "end"}, this.svg)
        .textContent = format(v);
    }
    const told = this.options.clock || clock, parts = this.options.clock ? ticks : time_ticks;
    for (const t of parts(from, to, Math.min(8, this.width / 70)))
      svg_node("text", {x: x(t), y: place.height - 5, "text-anchor": "middle"}, this.svg)
        .textContent = told(t);
    for (const s of bands.reverse()) this.area(s, "band", x, y);
    for (const s of this.series) {
      if (s.look === "band") continue;
      if (s.look === "area") this.area(s, "area", x, y);
      const path = step_path(this.inside(s.points), x, y, to);
      if (path) svg_node("path", {class: `line ${s.look === "dashed" ? "dashed" : s.tone}`, d: path}, this.svg);
    }
    const upright = (kind, t) => svg_node("line",
      {class: kind, x1: x(t), x2: x(t), y1: place.top, y2: floor}, this.svg);
    for (const mark of this.options.marks)
      if (mark.t >= from && mark.t <= to) upright(`mark ${mark.kind}`, mark.t);
    if (this.options.limit !== undefined)
      svg_node("line", {class: "limit", x1: place.left, x2: right,
                        y1: y(this.options.limit), y2: y(this.options.limit)}, this.svg);
    if (this.at !== null) upright("cursor", this.at);
    this.tell();
  }
  // The series that reach into the shown time.
  inside(points) {
    const {from, to} = this.options;
    return points.filter((p, i) => p[0] <= to && (points[i + 1] || [to])[0] >= from);
  }
  stack(series) {
    const sums = new Map();
    return series.map(s => ({tone: s.tone, points: s.points.map(([t, v]) => {
      sums.set(t, (sums.get(t) || 0) + (v || 0));
      return [t, sums.get(t)];
    })}));
  }
  area(s, kind, x, y) {
    const points = this.inside(s.points.filter(p => p[1] !== null));
    if (!points.length) return;
    const path = step_path(points, x, y, this.options.to), floor = y(this.options.least || 0);
    svg_node("path", {class: `${kind} ${s.tone}`, d:
      `M${x(points[0][0])} ${floor}L${path.slice(1)}L${x(this.options.to)} ${floor}Z`}, this.svg);
  }
  // The legend shows the newest values, or those under the pointer.
  tell() {
    const at = this.at === null ? Infinity : this.at, shown = this.series.slice(0, 16);
    this.legend.replaceChildren(...shown.map(s => {
      const line = document.createElement("li"), swatch = document.createElement("span");
      swatch.className = `swatch ${s.tone}`;
      const value = document.createElement("b");
      const found = s.points.filter(p => p[0] <= at).pop();
      value.textContent = found && found[1] !== null ? this.options.format(found[1]) : "–";
      line.append(swatch, s.name + " ", value);
      return line;
    }));
    const more = this.series.length - shown.length;
    if (more > 0) this.legend.append(`and ${more} more`);
    if (this.at !== null) this.legend.append(`at ${(this.options.clock || clock)(this.at)}`);
  }
}
