#include "runtime/ledger/plan.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace ballast::ledger {
namespace {

using nlohmann::json;

/// nlohmann silently converts -1 or 2^40 to a 32-bit number; a plan with such
/// numbers is invalid.
template <class Number>
Number number_of(const json& in, const char* what) {
  if (!in.is_number_unsigned() ||
      in.get<uint64_t>() > std::numeric_limits<Number>::max())
    throw json::other_error::create(
        501,
        std::string("plan: ") + what + " is not a number from 0 to " +
            std::to_string(std::numeric_limits<Number>::max()),
        &in);
  return in.get<Number>();
}

/// Fewer in a row are written one by one.
constexpr size_t run_min = 16;

json write_intervals(const std::vector<interval>& list) {
  json out = json::array();
  for (size_t i = 0; i < list.size();) {
    size_t end = i + 1;
    while (end < list.size() && goes_on(list[end - 1], list[end]))
      ++end;
    const bool as_run = end - i >= run_min;
    if (as_run)
      out.push_back(
          {value(list[i].chunk), list[i].begin, list[i].end, end - i});
    for (; !as_run && i < end; ++i)
      out.push_back({value(list[i].chunk), list[i].begin, list[i].end});
    i = end;
  }
  return out;
}

void read_intervals(const json& in, std::vector<interval>& out) {
  if (!in.is_array() || (in.size() != 3 && in.size() != 4))
    throw json::other_error::create(
        501, "plan: an interval is not [chunk, begin, end]", &in);
  const auto first = number_of<uint32_t>(in[0], "chunk");
  const auto begin = number_of<uint32_t>(in[1], "begin");
  const auto end = number_of<uint32_t>(in[2], "end");
  const uint64_t count =
      in.size() == 4 ? number_of<uint32_t>(in[3], "the number of chunks") : 1;
  if (count == 0 || out.size() + count > intervals_read_max ||
      first + count - 1 > std::numeric_limits<uint32_t>::max())
    throw json::other_error::create(
        501, "plan: a run of too many chunks, or of none", &in);
  for (uint64_t i = 0; i < count; ++i)
    out.push_back({chunk_id(uint32_t(first + i)), begin, end});
}

json write_leaves(const std::vector<leaf_ranges>& by_rank) {
  json out = json::array();
  for (const leaf_ranges& own : by_rank) {
    json& ranges = out.emplace_back(json::array());
    for (leaf_range one : own)
      ranges.push_back({one.begin, one.end});
  }
  return out;
}

void read_kept(const json& in, kept_leaves& out) {
  out.step = step_number(number_of<uint64_t>(in.at("step"), "kept step"));
  for (const json& own : in.at("leaves")) {
    leaf_ranges& ranges = out.by_rank.emplace_back();
    for (const json& one : own)
      ranges.push_back({number_of<uint32_t>(one.at(0), "kept leaf"),
                        number_of<uint32_t>(one.at(1), "kept leaf")});
  }
}

} // namespace

void to_json(json& out, const plan& in) {
  json shares = json::array();
  for (const share& part : in.shares) {
    shares.push_back({{"worker", value(part.worker)},
                      {"stream", part.stream},
                      {"since", value(part.since)},
                      {"batch_weight", part.batch_weight},
                      {"intervals", write_intervals(part.intervals)}});
  }
  out = {{"number", value(in.number)},
         {"generation", value(in.generation)},
         {"shares", std::move(shares)}};
  if (value(in.kept.step) > 0)
    out["kept"] = {{"step", value(in.kept.step)},
                   {"leaves", write_leaves(in.kept.by_rank)}};
}

void from_json(const json& in, plan& out) {
  plan read;
  read.number = plan_number(number_of<uint64_t>(in.at("number"), "number"));
  read.generation =
      generation(number_of<uint64_t>(in.at("generation"), "generation"));
  for (const json& part : in.at("shares")) {
    share one;
    one.worker = worker_id(number_of<uint32_t>(part.at("worker"), "worker"));
    one.stream = number_of<uint32_t>(part.at("stream"), "stream");
    one.since = plan_number(number_of<uint64_t>(part.at("since"), "since"));
    one.batch_weight =
        number_of<uint64_t>(part.at("batch_weight"), "batch_weight");
    std::vector<interval> intervals;
    for (const json& piece : part.at("intervals"))
      read_intervals(piece, intervals);
    one.intervals = std::move(intervals);
    read.shares.push_back(std::move(one));
  }
  if (in.contains("kept"))
    read_kept(in["kept"], read.kept);
  out = std::move(read);
}

} // namespace ballast::ledger
