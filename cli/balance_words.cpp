#include "cli/balance_words.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/number_text.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace ballast::cli {

namespace {

using nlohmann::json;

/// Receivers of one worker that are named.
constexpr size_t receivers_max = 4;
/// Givers that are named, and workers whose part of a batch changes.
constexpr size_t workers_max = 12;

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number())
    return std::nullopt;
  return found->get<double>();
}

double amount(const json& object, const char* key) {
  return number(object, key).value_or(0);
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null())
    return "";
  return found->is_string() ? found->get<std::string>() : json_text(*found);
}

const json& part(const json& object, const char* key) {
  static const json none = json::object();
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? none : *found;
}

std::string samples(double count) {
  return thousands(count) + (count == 1 ? " sample" : " samples");
}

/// "w2 1,200 and w3 80".
std::string listed(const std::vector<std::string>& items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i)
    out += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return out;
}

// -- a plan -------------------------------------------------------------------

/// "  w1 gives 3,333 samples to w2 and 3,333 to w3", the greatest first.
std::string gifts(const json& plan) {
  std::map<std::string, std::map<std::string, double>> by_giver;
  for (const json& one : part(plan, "moves"))
    by_giver[text(one, "from")][text(one, "to")] += amount(one, "rows");
  std::string out;
  size_t shown = 0;
  for (const auto& [giver, receivers] : by_giver) {
    if (shown++ == workers_max) {
      out += "  and " + std::to_string(by_giver.size() - workers_max) +
             " more workers give\n";
      break;
    }
    std::vector<std::pair<double, std::string>> to;
    for (const auto& [receiver, rows] : receivers)
      to.emplace_back(-rows, receiver);
    std::sort(to.begin(), to.end());
    std::vector<std::string> items;
    for (size_t i = 0; i < std::min(to.size(), receivers_max); ++i)
      items.push_back(
          (i == 0 ? samples(-to[i].first) : thousands(-to[i].first)) + " to " +
          to[i].second);
    if (to.size() > receivers_max) {
      double rest = 0;
      for (size_t i = receivers_max; i < to.size(); ++i)
        rest -= to[i].first;
      items.push_back(thousands(rest) + " to " +
                      std::to_string(to.size() - receivers_max) + " others");
    }
    out += "  " + giver + " gives " + listed(items) + "\n";
  }
  const double listed_moves = double(part(plan, "moves").size());
  if (const double all = amount(plan, "moves_total"); all > listed_moves)
    out += "  (of the first " + thousands(listed_moves) + " of " +
           thousands(all) + " moves)\n";
  return out;
}

/// "  a step takes of w1 64 -> 80 and of w2 64 -> 20 samples".
std::string batches(const json& plan) {
  std::vector<std::string> items;
  const json& after = part(part(plan, "after"), "workers");
  for (const auto& [name, one] : part(part(plan, "before"), "workers").items())
    if (const double then = amount(part(after, name.c_str()), "batch");
        then != amount(one, "batch"))
      items.push_back(name + " " + thousands(amount(one, "batch")) + " -> " +
                      thousands(then));
  if (items.empty())
    return "";
  if (items.size() > workers_max) {
    const size_t more = items.size() - workers_max;
    items.resize(workers_max);
    items.push_back(std::to_string(more) + " more");
  }
  return "  samples of a step: " + listed(items) + "\n";
}

/// What is better afterwards.
std::string gains(const json& plan) {
  const json& before = part(plan, "before");
  const json& after = part(plan, "after");
  std::vector<std::string> items;
  const auto changes = [&](const char* key) {
    return number(before, key) && number(after, key) &&
           amount(before, key) != amount(after, key);
  };
  if (changes("skew_tv_max"))
    items.push_back("labels at most " +
                    percent_text(amount(after, "skew_tv_max")) +
                    " off the whole set instead of " +
                    percent_text(amount(before, "skew_tv_max")));
  if (changes("step_ms"))
    items.push_back("a step of " + four_digits(amount(after, "step_ms")) +
                    " ms instead of " + four_digits(amount(before, "step_ms")) +
                    " ms");
  if (changes("classes_held_alone"))
    items.push_back(thousands(amount(after, "classes_held_alone")) +
                    " classes that one worker alone holds instead of " +
                    thousands(amount(before, "classes_held_alone")));
  return items.empty() ? "" : "wins: " + listed(items) + "\n";
}

double rows_of(const json& side) {
  double out = 0;
  for (const json& one : part(side, "workers"))
    out += amount(one, "rows");
  return out;
}

// -- workers ------------------------------------------------------------------

double row_us(const json& worker) {
  return amount(part(worker, "speed"), "row_us");
}

/// "a sample takes it 402 us, 4.0 times as long as w1".
std::string speed_words(const json& worker, const std::vector<json>& all) {
  const double mine = row_us(worker);
  if (mine <= 0)
    return "its speed is not measured yet";
  const json* fastest = &worker;
  for (const json& one : all)
    if (const double other = row_us(one); other > 0 && other < row_us(*fastest))
      fastest = &one;
  std::string out = "a sample takes it " + four_digits(mine) + " us";
  constexpr double alike = 1.05;
  const double ratio = mine / row_us(*fastest);
  if (all.size() < 2)
    return out;
  if (ratio < alike)
    return out + ", none is faster";
  char times[32];
  std::snprintf(times, sizeof times, "%.1f", ratio);
  return out + ", " + times + " times as long as " + text(*fastest, "worker");
}

/// Why it has its share, the most important first.
std::string why_words(const json& worker, const std::vector<json>& all) {
  std::string out = speed_words(worker, all);
  if (const std::string trouble = text(worker, "device_trouble");
      !trouble.empty())
    out += "; " + trouble;
  constexpr double much = 0.1;
  if (const double waits = amount(worker, "waits_for_core"); waits >= much)
    out += "; waits for a core " + percent_text(waits) + " of its time";
  const double skew = amount(worker, "skew_tv");
  if (skew > 0)
    out += "; its labels are " + percent_text(skew) + " off the whole set (" +
           percent_text(amount(worker, "skew_noise_floor")) +
           " would be chance)";
  if (const size_t alone = part(worker, "holds_alone").size(); alone > 0)
    out += "; holds " + std::to_string(alone) +
           (alone == 1 ? " class alone" : " classes alone");
  return out;
}

/// What is known of one worker besides.
std::string more_words(const json& worker) {
  std::string out;
  if (const auto best = number(worker, "batch_best");
      best && *best != amount(worker, "batch"))
    out += "  by its speed a step would take " + samples(*best) + " of it\n";
  std::vector<std::string> classes;
  for (const json& one : part(worker, "classes"))
    if (const double off = amount(one, "share_over_global"); off != 0)
      classes.push_back("class " + text(one, "class") + " " +
                        (off > 0 ? "+" : "-") +
                        percent_text(off > 0 ? off : -off));
  if (!classes.empty())
    out += "  against the whole set: " + listed(classes) + "\n";
  if (const auto rate = number(part(worker, "copies"), "bytes_per_s"))
    out += "  chunks come to it at " + bytes_text(*rate) + "/s\n";
  if (const auto reads = number(worker, "reads_bytes_per_s"))
    out += "  reads its chunks at " + bytes_text(*reads) + "/s\n";
  return out;
}

std::string padded(const std::string& what, size_t width, bool right = false) {
  const std::string gap(width - std::min(width, what.size()), ' ');
  return right ? gap + what : what + gap;
}

} // namespace

std::string plan_words(const json& plan) {
  const double moved = amount(plan, "moved_rows");
  const double all = rows_of(part(plan, "before"));
  const json& weighed = part(plan, "weighed");
  std::string out;
  if (moved > 0) {
    out += samples(moved) + " of " + thousands(all) + " (" +
           percent_text(all > 0 ? moved / all : 0) +
           ") would move; no plan that leads as far moves fewer than " +
           thousands(amount(plan, "bound_rows")) + "\n" + gifts(plan);
  } else {
    out += "nothing would move\n";
  }
  out += batches(plan);
  if (part(weighed, "asked").is_array())
    for (const json& one : weighed["asked"])
      out += "why: " + one.get<std::string>() + "\n";
  if (moved > 0)
    out += "costs: " + bytes_text(amount(plan, "moved_bytes")) +
           " to copy, which takes " + took_text(amount(plan, "takes_s")) +
           " beside the steps\n";
  out += gains(plan);
  if (const std::string cut = text(plan, "cut_short"); !cut.empty())
    out += "note: " + cut + "\n";
  out += "now: " + text(plan, "reason") + "\n";
  if (const std::string more = text(weighed, "why_not_more"); !more.empty())
    out += "why not more: " + more + "\n";
  out += "would change it: " + text(weighed, "would_change") + "\n";
  if (plan.contains("certificate"))
    out += "the certificate is shown with --json\n";
  return out;
}

std::string worker_words(const std::vector<json>& workers,
                         const std::string& only) {
  double rows = 0;
  double batch = 0;
  size_t width = 0;
  for (const json& one : workers) {
    rows += amount(one, "rows");
    batch += amount(one, "batch");
    width = std::max(width, text(one, "worker").size());
  }
  std::string out;
  const json* last = nullptr;
  for (const json& one : workers) {
    if (!only.empty() && text(one, "worker") != only)
      continue;
    last = &one;
    const double own = amount(one, "rows");
    constexpr size_t percent_width = 7;
    out +=
        padded(text(one, "worker"), only.empty() ? width : 0) + "  " +
        padded(percent_text(rows > 0 ? own / rows : 0), percent_width, true) +
        "  " + thousands(own) + " of " + samples(rows) + ", " +
        thousands(amount(one, "batch")) + " of " + thousands(batch) +
        " of a step: " + why_words(one, workers) + "\n";
    if (!only.empty())
      out += more_words(one);
  }
  if (last == nullptr)
    return out;
  out += "now: " + text(*last, "reason") + "\n";
  return out + "would change it: " + text(*last, "would_change") + "\n";
}

std::string chunk_words(const json& chunk) {
  std::string out = "chunk " + text(chunk, "chunk") + ": " +
                    samples(amount(chunk, "rows")) + ", " +
                    bytes_text(amount(chunk, "bytes")) + "\n";
  for (const json& one : part(chunk, "owners"))
    out += "  " + text(one, "worker") + " owns " +
           samples(amount(one, "end") - amount(one, "begin")) + " of it, " +
           thousands(amount(one, "begin")) + " to " +
           thousands(amount(one, "end") - 1) + "\n";
  if (const auto windows = number(chunk, "windows_since_move"))
    out += "  moved " + thousands(*windows) + " windows ago\n";
  out += chunk.value("may_move", false) ? "  it may move\n"
                                        : "  it may not move now\n";
  if (const json& planned = part(chunk, "planned"); !planned.empty())
    out += "  planned: " + text(planned, "reason") + "\n";
  return out;
}

} // namespace ballast::cli
