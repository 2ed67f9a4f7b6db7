#include "cli/status_screen.hpp"

#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace ballast::cli {

namespace {

using nlohmann::json;

const json* find(const json& object, const char* key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr)
    return "-";
  return value->is_string() ? value->get<std::string>() : json_text(*value);
}

std::string number(const json& object, const char* key, int digits,
                   double factor = 1, const char* unit = "") {
  const json* value = find(object, key);
  if (value == nullptr || !value->is_number())
    return "-";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f%s", digits,
                value->get<double>() * factor, unit);
  return buffer;
}

std::string of(const json& object, const char* key, const char* all) {
  return text(object, key) + "/" + text(object, all);
}

/// Columns as wide as their widest cell; the first `left` are left-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows,
                  size_t left) {
  std::vector<size_t> width(rows[0].size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      width[i] = std::max(width[i], row[i].size());
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string gap(width[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i < left ? row[i] + gap : gap + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string workers_table(const json& workers) {
  double owned = 0;
  for (const json& worker : workers)
    if (const json* rows = find(worker, "rows_owned");
        rows && rows->is_number())
      owned += rows->get<double>();
  std::vector<std::vector<std::string>> rows = {
      {"worker", "state", "device", "rank", "samples/s", "share", "batch",
       "rows", "skew", "heartbeat"}};
  for (const json& worker : workers)
    rows.push_back(
        {text(worker, "name"), text(worker, "state"), text(worker, "device"),
         text(worker, "rank"), number(worker, "samples_per_s", 0),
         owned > 0 ? number(worker, "rows_owned", 1, 100 / owned, " %") : "-",
         number(worker, "batch", 0), number(worker, "rows_owned", 0),
         number(worker, "skew_tv", 3),
         number(worker, "heartbeat_age_s", 1, 1, " s")});
  return table(rows, 3);
}

/// A line for each worker whose device is in trouble.
std::string troubles(const json& status) {
  std::string out;
  const json* workers = find(status, "workers");
  if (workers && workers->is_array())
    for (const json& worker : *workers)
      if (const json* trouble = find(worker, "trouble");
          trouble && trouble->is_object())
        out += text(*trouble, "reason") + ", for " +
               number(*trouble, "since_s", 0) + " s\n";
  return out.empty() ? out : "\n" + out;
}

/// Why no step is done, if that is known.
std::string obstacles(const json& status) {
  std::string out;
  if (const json* preparing = find(status, "preparing");
      preparing && preparing->is_object()) {
    out += "\n" + number(*preparing, "done", 0, 100, " %") +
           " of the rows are prepared";
    if (find(*preparing, "left_s"))
      out += "; training begins in about " +
             number(*preparing, "left_s", 0, 1, " s");
    out += "\n";
  }
  if (find(status, "cannot_open"))
    out += "\nthe workers cannot connect to each other: " +
           text(status, "cannot_open") + "\n";
  if (find(status, "waits"))
    out += "\nwaits: " + text(status, "waits") + "\n";
  if (const json* lacks = find(status, "waiting_for_memory");
      lacks && lacks->is_object())
    out += "\nwaits for memory: " +
           number(*lacks, "lacking_bytes", 1, 1e-6, " MB") +
           " of the training data have no place, the workers have room for " +
           number(*lacks, "free_bytes", 1, 1e-6, " MB") + " more\n";
  return out;
}

/// Of some seconds, in the unit that a reader would take.
std::string duration(double seconds) {
  struct unit {
    double from_s;
    double factor;
    const char* name;
  };
  constexpr unit units[] = {{2 * 86400.0, 1 / 86400.0, "days"},
                            {2 * 3600.0, 1 / 3600.0, "h"},
                            {120, 1 / 60.0, "min"},
                            {1, 1, "s"},
                            {0, 1000, "ms"}};
  for (const unit& one : units)
    if (seconds >= one.from_s || one.from_s == 0) {
      const double shown = seconds * one.factor;
      char buffer[64];
      std::snprintf(buffer, sizeof buffer, "%.*f %s", shown < 10 ? 1 : 0, shown,
                    one.name);
      return buffer;
    }
  return "-";
}

double seconds_of(const json& object, const char* key) {
  const json* value = find(object, key);
  return value && value->is_number() ? value->get<double>() : 0;
}

std::string percent(const json& object, const char* key) {
  const double part = seconds_of(object, key) * 100;
  return part > 0 && part < 0.01 ? "less than 0.01 %"
                                 : number(object, key, 2, 100, " %");
}

/// What is to be written into the job.
std::string advice(const json& of) {
  const json* what = find(of, "advice");
  if (!what || !what->is_object())
    return "-";
  const char* seconds =
      find(*what, "memory_every_s") ? "memory_every_s" : "every_s";
  return std::string("checkpoint.") + seconds + " " + text(*what, seconds) +
         ", every_steps " + text(*what, "every_steps");
}

/// How often the state was lost, and what is taken for the future.
std::string failures(const json& of) {
  const std::string how_often = "once in " + duration(seconds_of(of, "mttf_s"));
  const bool never = seconds_of(of, "failures_undone") == 0;
  return std::string("state lost ") +
         (never ? "never" : text(of, "failures_undone") + " times") + " in " +
         duration(seconds_of(of, "trained_s")) + " of training, " +
         text(of, "failures_survived") + " failures survived; " +
         (never ? "assumed: " : "so ") + how_often;
}

/// Where the copies of checkpoints are.
std::string copies(const json& of) {
  if (!find(of, "copy_to"))
    return "";
  const std::string step = find(of, "copied_step")
                               ? "step " + text(of, "copied_step") + " is in "
                               : "none is in ";
  return "  copies: " + step + text(of, "copy_to") +
         (find(of, "copy_trouble") ? "; " + text(of, "copy_trouble") : "") +
         "\n";
}

/// What checkpoints cost, and how often to make one.
std::string checkpoints(const json& status) {
  const json* of = find(status, "checkpoint");
  if (!of || !of->is_object())
    return "";
  std::string out = "\ncheckpoints: ";
  out += find(*of, "step") ? "step " + text(*of, "step") + " is on the disk"
                           : "none is on the disk yet";
  if (find(*of, "memory_step"))
    out += ", step " + text(*of, "memory_step") + " in memory";
  const json* now = find(*of, "now");
  const json* best = find(*of, "best");
  if (!now || !now->is_object() || !best || !best->is_object())
    return out + "; what one costs is not measured yet\n" + copies(*of);
  out += "; one is saved in " + duration(seconds_of(*of, "saved_s")) +
         " and holds training up by " + duration(seconds_of(*of, "pause_s")) +
         " (a step takes " + duration(seconds_of(*of, "step_s")) + ")\n";
  out += "  now:  one every " + duration(seconds_of(*now, "interval_s")) +
         ", " + percent(*now, "pause_ratio") +
         " of the time; a failure of all workers loses " +
         duration(seconds_of(*now, "lost_s")) + "\n";
  out += "  best: one every " + duration(seconds_of(*best, "interval_s")) +
         ", " + percent(*best, "pause_ratio") + " of the time; loses " +
         duration(seconds_of(*best, "lost_s")) + " (" + advice(*of) + ")\n";
  return out + "  " + failures(*of) + "\n" + copies(*of);
}

/// Those that are one number; of a run that computes none, its accuracy.
std::string test_metrics(const json& status) {
  const json* values = find(status, "test_metrics");
  std::string out;
  if (values == nullptr || !values->is_object())
    return "  accuracy " + number(status, "test_accuracy", 4) + "\n";
  for (const auto& [name, value] : values->items())
    if (!value.is_array())
      out += "  " + name + " " + number(*values, name.c_str(), 4);
  return out + "\n";
}

} // namespace

std::string status_screen(const json& status) {
  std::string out = text(status, "run") + "  " + text(status, "state");
  if (find(status, "waiting_for_workers"))
    out += " for " + text(status, "waiting_for_workers") + " workers";
  out += "\nepoch " + of(status, "epoch", "epochs") + "  step " +
         of(status, "step", "steps_total") + "  loss " +
         number(status, "loss", 4) + "  " + number(status, "samples_per_s", 0) +
         " samples/s\n";
  if (find(status, "test_loss"))
    out += "test loss " + number(status, "test_loss", 4) + test_metrics(status);
  if (const json* best = find(status, "best"))
    out += "best " + text(*best, "metric") + " " + number(*best, "value", 4) +
           ", of epoch " + text(*best, "epoch") + "\n";
  out += "world " + text(status, "world") + "  generation " +
         text(status, "generation") + "  plan " + text(status, "plan") +
         "  term " + text(status, "term") + "  skew " +
         number(status, "skew_tv_max", 3);
  const json* moves = find(status, "moves");
  out += "  moves " +
         std::to_string(moves && moves->is_array() ? moves->size() : 0) + "\n";
  if (find(status, "bound"))
    out += "bound by " + text(status, "bound") + "\n";
  if (const json* workers = find(status, "workers");
      workers && workers->is_array() && !workers->empty())
    out += "\n" + workers_table(*workers);
  out += checkpoints(status) + troubles(status) + obstacles(status);
  if (find(status, "trouble"))
    out += "\n" + text(status, "trouble") + "\n";
  if (find(status, "error"))
    out += "\nerror: " + text(status, "error") + "\n";
  return out;
}

} // namespace ballast::cli
