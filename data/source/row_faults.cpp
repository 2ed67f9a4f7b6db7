#include "data/source/row_faults.hpp"

#include "data/source/file_system.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace ballast::data {

namespace {

/// Of fewer rows the first mistake would be too large a part.
constexpr uint64_t rows_judged_min = 1000;

std::string shortened(const std::string& text) {
  return text.size() <= fault_value_max
             ? text
             : text.substr(0, fault_value_max) + "...";
}

} // namespace

/// In an order for readers.
std::string quarantine_line(const row_fault& what) {
  nlohmann::ordered_json out;
  out["source"] = what.source;
  out["file"] = without_secrets(what.file);
  if (what.row > 0)
    out["row"] = what.row;
  if (what.line > 0)
    out["line"] = what.line;
  if (what.lines > 1)
    out["lines"] = what.lines;
  if (!what.column.empty())
    out["column"] = what.column;
  out["operator"] = what.step;
  out["reason"] = what.reason;
  if (!what.text.empty())
    out["text"] = shortened(what.text);
  for (size_t i = 0; i < std::min(what.values.size(), fault_values_max); ++i)
    out["values"][what.values[i].first] = shortened(what.values[i].second);
  return json_text(out) + "\n";
}

namespace {

/// A quote that is not closed takes the lines behind it along.
std::string lines_in_words(const row_fault& what) {
  const std::string first = std::to_string(what.line);
  return what.lines == 1 ? " (line " + first + ")"
                         : " (lines " + first + " to " +
                               std::to_string(what.line + what.lines - 1) + ")";
}

std::string in_words(const row_fault& what) {
  return printable(without_secrets(what.file)) +
         (what.row > 0 ? ": row " + std::to_string(what.row) : "") +
         (what.line > 0 ? lines_in_words(what) : "") +
         (what.column.empty() ? ""
                              : ", column '" + printable(what.column) + "'") +
         ": " + what.reason;
}

std::string percent(double part) {
  char out[32];
  std::snprintf(out, sizeof out, "%.3g %%", part * 100);
  return out;
}

} // namespace

std::optional<row_faults> row_faults::of(const data_spec& data) {
  if (data.on_error == error_policy::fail)
    return std::nullopt;
  return row_faults(data.errors_max, data.on_error == error_policy::quarantine);
}

void row_faults::add(const row_fault& what) {
  ++found_.rows;
  found_.last = in_words(what);
  if (!is_kept_ || found_.kept == faults_kept_max ||
      found_.lines.size() >= faults_bytes_max)
    return;
  ++found_.kept;
  found_.lines += quarantine_line(what);
}

void row_faults::add(uint64_t origin, const row_fault& what) {
  if (origins_.insert(origin).second)
    add(what);
}

void row_faults::add(const faults_found& more) {
  if (more.rows == 0)
    return;
  found_.rows += more.rows;
  found_.last = more.last;
  if (!is_kept_)
    return;
  size_t begin = 0;
  while (found_.kept < faults_kept_max &&
         found_.lines.size() < faults_bytes_max && begin < more.lines.size()) {
    const size_t end = more.lines.find('\n', begin) + 1;
    found_.lines.append(more.lines, begin, end - begin);
    ++found_.kept;
    begin = end;
  }
}

void row_faults::read_up_to(size_t source, uint64_t rows) {
  if (of_graph_.size() <= source)
    of_graph_.resize(source + 1);
  of_graph_[source] = std::max(of_graph_[source], rows);
}

uint64_t row_faults::rows_read() const {
  return std::accumulate(of_graph_.begin(), of_graph_.end(), rows_read_);
}

void row_faults::check(bool at_end) const {
  const uint64_t read = rows_read();
  if (found_.rows == 0 || (read < rows_judged_min && !at_end))
    return;
  const bool all = at_end && found_.rows >= read;
  if (!all && double(found_.rows) <= part_max_ * double(read))
    return;
  throw ballast_error(
      errc::invalid_data,
      "/data/errors_max: " +
          (all ? (read == 1 ? "the only row" : "all " + counted(read, "row")) +
                     " would be left out"
               : std::to_string(found_.rows) + " of the " +
                     counted(read, "row") + " read so far are wrong (" +
                     percent(double(found_.rows) / double(read)) +
                     "), at most " + percent(part_max_) + " may be") +
          "; the last: " + found_.last +
          (all ? "; correct the files, or how the job reads them"
               : "; correct them, or raise errors_max"),
      "/data/errors_max");
}

ledger::rejected_rows row_faults::counts() const {
  return {rows_read(), found_.rows, found_.kept};
}

std::string rejected_note(const ledger::rejected_rows& rows,
                          const std::string& where) {
  uint64_t removed = 0;
  std::string by;
  for (const auto& [node, count] : rows.removed) {
    removed += count;
    if (count > 0)
      by += (by.empty() ? "" : ", ") + std::to_string(count) + " by " +
            printable(node, 64);
  }
  if (rows.rows + removed == 0)
    return "none of the " + counted(rows.read, "row") + " was left out";
  const bool one = rows.rows == 1;
  std::string out;
  if (rows.rows > 0)
    out = std::to_string(rows.rows) + " of " + counted(rows.read, "row") +
          (one ? " was" : " were") +
          " left out because something is wrong with " + (one ? "it" : "them");
  if (removed > 0)
    out += (out.empty() ? "" : ", and ") + std::to_string(removed) +
           (out.empty() ? " of " + counted(rows.read, "row") : "") +
           (removed == 1 ? " was" : " were") + " removed (" + by + ")";
  if (where.empty())
    return out;
  out += ": " + printable(where);
  if (rows.kept < rows.rows + removed)
    out += " has the first " + std::to_string(rows.kept);
  return out;
}

bool any_left_out(const ledger::rejected_rows& rows) {
  return rows.rows > 0 ||
         std::any_of(rows.removed.begin(), rows.removed.end(),
                     [](const auto& one) { return one.second > 0; });
}

namespace {

/// As it begins in a line; a member of an archive may follow.
std::string named_file(const std::string& path) {
  const std::string quoted = json_text(nlohmann::json(without_secrets(path)));
  return "\"file\":" + quoted.substr(0, quoted.size() - 1);
}

} // namespace

std::string with_other_files(const std::string& lines,
                             const std::vector<std::string>& then,
                             const std::vector<std::string>& now) {
  if (then.size() != now.size() || then == now)
    return lines;
  std::string out;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size() - 1) + 1;
    std::string line = lines.substr(begin, end - begin);
    const size_t at = line.find("\"file\":");
    size_t longest = 0; // one path may begin with another
    std::string by;
    for (size_t i = 0; i < then.size(); ++i)
      if (const std::string was = named_file(then[i]);
          at != std::string::npos && was.size() > longest &&
          line.compare(at, was.size(), was) == 0) {
        longest = was.size();
        by = named_file(now[i]);
      }
    if (longest > 0)
      line.replace(at, longest, by);
    out += line;
    begin = end;
  }
  return out;
}

} // namespace ballast::data
