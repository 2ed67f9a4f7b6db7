#include "runtime/balance/plan_note.hpp"

#include <nlohmann/json.hpp>

namespace ballast::balance {

namespace {

using nlohmann::json;

balance_cause cause_from(const std::string& word) {
  for (balance_cause one :
       {balance_cause::skew, balance_cause::size, balance_cause::coverage})
    if (word == to_string(one))
      return one;
  return balance_cause::speed;
}

} // namespace

void to_json(json& out, const plan_note& in) {
  json shares = json::array();
  for (const share_summary& one : in.shares)
    shares.push_back({value(one.worker), one.rows_owned, one.skew_tv});
  out = {{"reason", in.reason}, {"shares", std::move(shares)}};
  if (in.balance)
    out["balance"] = {{"cause", to_string(in.balance->cause)},
                      {"makespan_ratio", in.balance->makespan_ratio},
                      {"moved_rows", in.balance->moved_rows},
                      {"moved_bytes", in.balance->moved_bytes},
                      {"bound_rows", in.balance->bound_rows},
                      {"round_bound_rows", in.balance->round_bound_rows},
                      {"round", value(in.balance->round)}};
}

void from_json(const json& in, plan_note& out) {
  out = {};
  out.reason = in.at("reason").get<std::string>();
  for (const json& one : in.at("shares"))
    out.shares.push_back({worker_id(one.at(0).get<uint32_t>()),
                          one.at(1).get<uint64_t>(), one.at(2).get<double>()});
  if (!in.contains("balance"))
    return;
  const json& told = in["balance"];
  out.balance = {cause_from(told.at("cause").get<std::string>()),
                 told.at("makespan_ratio").get<double>(),
                 told.at("moved_rows").get<uint64_t>(),
                 told.at("moved_bytes").get<uint64_t>(),
                 told.at("bound_rows").get<uint64_t>(),
                 told.value("round_bound_rows", uint64_t{0}),
                 plan_number(told.value("round", uint64_t{0}))};
}

} // namespace ballast::balance
