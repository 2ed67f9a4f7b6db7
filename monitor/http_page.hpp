/// GET / of a coordinator: one page that shows /v1/status and keeps it fresh.
/// It needs nothing from elsewhere, and writes text only as text, because
/// names in it come from users.
#pragma once

#include <string_view>

namespace ballast {

inline constexpr std::string_view http_page = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ballast</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
         padding: 0 1rem; }
  table { border-collapse: collapse; margin: 1rem 0; }
  th, td { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
  th { font-weight: 600; }
  td { font-variant-numeric: tabular-nums; }
  #trouble { color: #b00020; }
  @media (prefers-color-scheme: dark) {
    body { background: #14171a; color: #e4e6e8; } a { color: #8ab4f8; }
  }
</style>
<h1 id="name">Ballast</h1>
<p id="trouble" role="status"></p>
<table id="run"></table>
<h2>Workers</h2>
<table id="workers"></table>
<p>
  <a href="v1/status">status</a> ·
  <a href="v1/events?after=0">events</a> ·
  <a href="metrics">metrics</a> ·
  <a href="v1/targets">targets</a> ·
  <a href="v1/schema">schema</a>
</p>
<script>
const by = id => document.getElementById(id);
const text = v => v === null || v === undefined ? "–"
  : typeof v === "number" && !Number.isInteger(v) ? v.toPrecision(4)
  : typeof v === "object" ? JSON.stringify(v) : String(v);
function row(table, kind, cells) {
  const line = table.insertRow();
  for (const cell of cells) {
    const box = document.createElement(kind);
    box.textContent = cell;
    line.append(box);
  }
  return line;
}
function show(status) {
  by("name").textContent = "Ballast: " + text(status.run) + " is " + text(status.state);
  const run = by("run");
  run.replaceChildren();
  for (const [key, value] of Object.entries(status)) {
    if (key === "workers" || (Array.isArray(value) && !value.length)) continue;
    const line = run.insertRow();
    const head = document.createElement("th");
    head.textContent = key;
    line.append(head);
    line.insertCell().textContent = text(value);
  }
  const table = by("workers"), workers = status.workers || [];
  table.replaceChildren();
  const keys = [...new Set(workers.flatMap(Object.keys))];
  if (keys.length) row(table, "th", keys);
  for (const worker of workers) row(table, "td", keys.map(key => text(worker[key])));
}
async function refresh() {
  try {
    const reply = await fetch("v1/status", {cache: "no-store"});
    if (!reply.ok) throw new Error(reply.status + " " + reply.statusText);
    show(await reply.json());
    by("trouble").textContent = "";
  } catch (error) {
    by("trouble").textContent = "No answer from the coordinator: " + error.message;
  }
  setTimeout(refresh, 1000);
}
refresh();
</script>
</html>
)html";

} // namespace ballast
