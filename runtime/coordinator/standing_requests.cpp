#include "runtime/coordinator/standing_requests.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast::coordinator {

namespace {

using nlohmann::json;

bool same(const balance_spec& a, const balance_spec& b) {
  return a.enabled == b.enabled && a.skew_tv == b.skew_tv;
}

json to_json(const balance_spec& in) {
  return {{"enabled", in.enabled}, {"skew_tv", in.skew_tv}};
}

balance_spec balance_from(const json& in) {
  balance_spec out;
  out.enabled = in.at("enabled").get<bool>();
  out.skew_tv = in.at("skew_tv").get<double>();
  return out;
}

} // namespace

balance_spec standing_requests::balance_of(const job& what) const {
  return balance && same(balance->job, what.balance) ? balance->now
                                                     : what.balance;
}

std::optional<uint32_t> standing_requests::workers_of(const job& what) const {
  const elastic_spec& how = what.elastic;
  if (!workers || workers->job != how.workers)
    return std::nullopt;
  return uint32_t(
      std::clamp<uint64_t>(workers->now, how.min_workers, how.max_workers));
}

void to_json(json& out, const standing_requests& in) {
  out = json::object();
  if (in.balance)
    out["balance"] = {{"job", to_json(in.balance->job)},
                      {"now", to_json(in.balance->now)}};
  if (in.workers)
    out["workers"] = {{"job", in.workers->job}, {"now", in.workers->now}};
  out["leaving"] = json::array();
  for (worker_id who : in.leaving)
    out["leaving"].push_back(value(who));
  out["paused"] = in.paused;
  if (in.stop)
    out["stop"] = {{"by_signal", in.stop->by_signal}};
  if (in.copy)
    out["copy"] = value(*in.copy);
}

void from_json(const json& in, standing_requests& out) {
  out = {};
  if (in.contains("balance"))
    out.balance = {balance_from(in["balance"].at("job")),
                   balance_from(in["balance"].at("now"))};
  if (in.contains("workers"))
    out.workers = {in["workers"].at("job").get<uint32_t>(),
                   in["workers"].at("now").get<uint32_t>()};
  for (const json& who : in.at("leaving"))
    out.leaving.insert(worker_id(who.get<uint32_t>()));
  // A journal of an earlier build lacks these.
  out.paused = in.value("paused", false);
  if (in.contains("stop"))
    out.stop = {in["stop"].at("by_signal").get<bool>()};
  if (in.contains("copy"))
    out.copy = step_number{in["copy"].get<uint64_t>()};
}

} // namespace ballast::coordinator
