#include "actors/planner.hpp"

#include "actors/handler_exception.hpp"
#include "actors/types.hpp"
#include "runtime/balance/explain.hpp"
#include "runtime/base/thread_name.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace ballast::actors {

namespace {

failure bad_request(const std::string& why, const std::string& pointer = {}) {
  return {errc::bad_request, why, pointer};
}

control_reply refused(failure why) {
  return {std::move(why), {}};
}

control_reply explained(const nlohmann::ordered_json& fields) {
  return {{}, balance_explained{fields}};
}

control_reply explain_chunk_of(const balance::balancer& from, uint64_t chunk) {
  const size_t chunks = from.set().chunks->train.size();
  if (chunk >= chunks)
    return refused(bad_request(
        "/chunk: expected 0 to " + std::to_string(chunks - 1), "/chunk"));
  return explained(explain_chunk(from, chunk_id(uint32_t(chunk))));
}

control_reply explain_worker_of(const balance::balancer& from,
                                const std::string& name) {
  const auto& workers = from.last_view().workers;
  std::string here;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (workers[rank].name == name)
      return explained(explain_worker(from, rank));
    here += (here.empty() ? "" : ", ") + workers[rank].name;
  }
  return refused(
      {errc::unknown_worker,
       "no worker named " + name + " trains here; there are: " + here,
       "/worker"});
}

/// Why nothing can be explained now, or nothing.
failure nothing_to_explain(const balance::balancer* from) {
  if (from == nullptr)
    return bad_request("no run trains here");
  return from->now().some() ? failure{} : bad_request("no run trains here yet");
}

} // namespace

planner::planner(caf::actor_config& actor,
                 const std::function<void(const std::string&)>& on_defect)
    : planner_actor::base(actor) {
  on_handler_exception(this, "planner", on_defect);
}

planner::behavior_type planner::make_behavior() {
  name_this_thread("bl-planner");
  return {
      [this](const plan_on& what) {
        balance_ = std::make_unique<balance::balancer>(what.policy, what.set,
                                                       what.labels);
      },
      [this](const load_look& at) -> caf::result<balance::balance_answer> {
        if (!balance_)
          return to_error(bad_request("no data set is prepared"));
        return balance_->observe(at.view,
                                 [&at] { return at.stop.stop_requested(); });
      },
      [this](const plan_request& request) { return explain(request); },
      [this](const explain_request& request) { return explain(request); },
      [this](const balance::balance_policy& policy) {
        if (balance_)
          balance_->set_policy(policy);
      },
      [this](const drop_set&) { balance_.reset(); },
  };
}

control_reply planner::explain(const plan_request& request) const {
  if (failure why = nothing_to_explain(balance_.get()))
    return refused(std::move(why));
  return explained(explain_plan(*balance_, request.certificate));
}

control_reply planner::explain(const explain_request& request) const {
  if (failure why = nothing_to_explain(balance_.get()))
    return refused(std::move(why));
  if (request.worker.has_value() == request.chunk.has_value())
    return refused(
        bad_request("explain: give \"worker\" or \"chunk\", one of them"));
  return request.chunk ? explain_chunk_of(*balance_, *request.chunk)
                       : explain_worker_of(*balance_, *request.worker);
}

} // namespace ballast::actors
