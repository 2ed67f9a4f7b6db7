#include "runtime/ledger/plan.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace ballast {
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

interval interval_of(const json& in) {
  if (!in.is_array() || in.size() != 3)
    throw json::other_error::create(
        501, "plan: an interval is not [chunk, begin, end]", &in);
  return {chunk_id(number_of<uint32_t>(in[0], "chunk")),
          number_of<uint32_t>(in[1], "begin"),
          number_of<uint32_t>(in[2], "end")};
}

} // namespace

void to_json(json& out, const plan& in) {
  json shares = json::array();
  for (const share& part : in.shares) {
    json intervals = json::array();
    for (const interval& piece : part.intervals)
      intervals.push_back({value(piece.chunk), piece.begin, piece.end});
    shares.push_back({{"worker", value(part.worker)},
                      {"stream", part.stream},
                      {"since", value(part.since)},
                      {"batch_weight", part.batch_weight},
                      {"intervals", std::move(intervals)}});
  }
  out = {{"number", value(in.number)},
         {"generation", value(in.generation)},
         {"shares", std::move(shares)}};
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
    for (const json& piece : part.at("intervals"))
      one.intervals.push_back(interval_of(piece));
    read.shares.push_back(std::move(one));
  }
  out = std::move(read);
}

} // namespace ballast
