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
    out += "test loss " + number(status, "test_loss", 4) + "  accuracy " +
           number(status, "test_accuracy", 4) + "\n";
  out += "world " + text(status, "world") + "  generation " +
         text(status, "generation") + "  plan " + text(status, "plan") +
         "  term " + text(status, "term") + "  skew " +
         number(status, "skew_tv_max", 3);
  const json* moves = find(status, "moves");
  out += "  moves " +
         std::to_string(moves && moves->is_array() ? moves->size() : 0) + "\n";
  if (const json* workers = find(status, "workers");
      workers && workers->is_array() && !workers->empty())
    out += "\n" + workers_table(*workers);
  out += troubles(status) + obstacles(status);
  if (find(status, "trouble"))
    out += "\n" + text(status, "trouble") + "\n";
  if (find(status, "error"))
    out += "\nerror: " + text(status, "error") + "\n";
  return out;
}

} // namespace ballast::cli
