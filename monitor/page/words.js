// Formats numbers and events. All output becomes text nodes, never markup,
// because names and reasons come from users.
"use strict";

const percent = v => (100 * v).toFixed(v < 0.0995 && v > 0 ? 1 : 0) + " %";
const ratio = v => v.toFixed(v < 10 ? 2 : 0);

function count(v) {
  if (v >= 1e9) return (v / 1e9).toPrecision(3) + " G";
  if (v >= 1e7) return (v / 1e6).toPrecision(3) + " M";
  return v >= 100 || Number.isInteger(v) ? Math.round(v).toLocaleString("en") : v.toPrecision(2);
}

// Formats seconds of the run like a clock.
function clock(seconds) {
  const s = Math.max(0, Math.round(seconds)), two = n => String(n).padStart(2, "0");
  const minutes = Math.floor(s / 60);
  return minutes < 60 ? `${minutes}:${two(s % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`;
}

const few = names => names.length <= 8 ? names.join(", ")
  : names.slice(0, 8).join(", ") + ` and ${names.length - 8} more`;

// The outcome of the last balance window.
function words_of_balance(balance) {
  if (!balance.why) return "";
  return `Balance: ${balance.why}.` +
    (balance.would_change ? ` What would change that: ${balance.would_change.replaceAll("`", "")}.` : "");
}

const routine = ["epoch", "evaluation", "checkpoint"];
const event_class = {
  balance: "move", move: "move", plan: "move", generation: "change", worker_joined: "change",
  worker_left: "change", worker_returned: "change", scale: "change", worker_lost: "fault",
  straggler: "fault",  fault: "fault", error: "fault", undone: "fault", checkpoint_failed: "fault", waiting: "fault"};

const event_words = {
  balance: e => `${e.reason}` + (e.moved_rows ? `: ${count(e.moved_rows)} rows moved, at least ` +
    `${count(e.bound_rows)} had to` : "") + `, from step ${count(e.step)}; ` +
    `skew at most ${percent(e.skew_tv_max)}`,
  move: e => `${count(e.rows)} rows in ${count(e.chunks)} chunks copied in ${count(e.ms)} ms`,
  plan: e => `${e.plan} ${e.outcome}: ${e.reason}`,
  generation: e => `${e.generation}: ${few(e.workers)} (${e.reason})`,
  epoch: e => `${e.epoch} ends with step ${count(e.step)}, training loss ${count(e.train_loss)}`,
  fault: e => `${e.what} ${e.worker} (${e.amount})`,
  worker_joined: e => `${e.worker} on ${e.host}, ${e.device}`,
  worker_left: e => `${e.worker} on ${e.host}`,
  worker_lost: e => `${e.worker}${e.host ? ` on ${e.host}` : ""}: ${e.reason}`,
  straggler: e => `${e.reason}`,
  error: e => `${e.code}: ${e.message}`,
};

function words_of(event) {
  try {
    if (event_words[event.kind]) return event_words[event.kind](event);
  } catch { /* another format: shown as is, below */ }
  const {seq, t_ns, time, kind, ...rest} = event;
  return Object.entries(rest).map(([key, value]) => key + " " +
    (typeof value === "object" ? JSON.stringify(value) : value)).join(", ");
}

function element(kind, text, name = "") {
  const out = document.createElement(kind);
  out.className = name;
  out.append(text);
  return out;
}

// A row of a table. cells: [text or node, class].
function table_row(kind, cells) {
  const out = document.createElement("tr");
  out.append(...cells.map(([content, name]) => element(kind, content, name)));
  return out;
}

function fact_box(name, value) {
  const out = document.createElement("div");
  out.append(element("dt", name), element("dd", value));
  return out;
}

// A line of the list of events; at: seconds of the run.
function event_line(event, at) {
  const out = document.createElement("li"), time = element("time", clock(at));
  time.dateTime = event.time;
  out.className = routine.includes(event.kind) ? "routine" : "";
  out.append(time, element("span", event.kind.replaceAll("_", " "), event_class[event.kind]),
    element("span", words_of(event)));
  return out;
}
