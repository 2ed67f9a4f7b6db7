#include "actors/shard_manager.hpp"

#include "actors/handler_exception.hpp"
#include "actors/types.hpp"
#include "runtime/balance/explain.hpp"
#include "runtime/balance/memory_fit.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace ballast {

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

control_reply explain_chunk_of(const balancer& planner, uint64_t chunk) {
  const size_t chunks = planner.set().train.size();
  if (chunk >= chunks)
    return refused(bad_request(
        "/chunk: expected 0 to " + std::to_string(chunks - 1), "/chunk"));
  return explained(explain_chunk(planner, chunk_id(uint32_t(chunk))));
}

control_reply explain_worker_of(const balancer& planner,
                                const std::string& name) {
  const auto& workers = planner.last_view().workers;
  std::string here;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (workers[rank].name == name)
      return explained(explain_worker(planner, rank));
    here += (here.empty() ? "" : ", ") + workers[rank].name;
  }
  return refused(
      {errc::unknown_worker,
       "no worker named " + name + " trains here; there are: " + here,
       "/worker"});
}

/// Why nothing can be explained now, or nothing.
failure nothing_to_explain(const balancer* planner) {
  if (planner == nullptr)
    return bad_request("no run trains here");
  return planner->current() ? failure{} : bad_request("no run trains here yet");
}

/// So often within the patience.
constexpr int progress_looks = 20;

const failure not_prepared = bad_request("no data set is prepared");

} // namespace

shard_manager::shard_manager(caf::actor_config& actor,
                             shard_manager_config config)
    : shard_manager_actor::base(actor), config_(std::move(config)) {
  on_handler_exception(this, "shard manager", config_.on_defect);
}

shard_manager::behavior_type shard_manager::make_behavior() {
  return {
      [this](const prepare_set& order) { return prepare(order); },
      [this](const place_shares& order) { return place_within(order); },
      [this](const load_view& view) { return observe(view); },
      [this](const plan_request& request) { return explain(request); },
      [this](const explain_request& request) { return explain(request); },
      [this](const set_balance& how) { set_policy(how); },
      [this](const serve_file& what) {
        if (set_)
          set_->serve(what.path);
      },
      [this](const drop_set&) { drop(); },
      [this](const preparation_ended& how) { end(how); },
      [this](const preparation_tick& of) { check_progress(of); },
  };
}

/// The threads end with messages to this actor; here they are waited for.
void shard_manager::on_exit() {
  if (set_)
    set_->stop();
  for (auto& [number, one] : leaving_)
    one->stop();
  set_.reset();
  leaving_.clear();
  promise_ = {};
}

instant shard_manager::now() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

caf::result<set_prepared> shard_manager::prepare(const prepare_set& order) {
  drop();
  promise_ = make_response_promise<set_prepared>();
  const shard_manager_actor me = this;
  set_ = std::make_unique<served_set>(
      order, config_, [me, number = ++last_number_](const failure& problem) {
        caf::anon_send(me, preparation_ended{number, problem});
      });
  state_ = set_state::preparing;
  progress_ = no_progress(now(), config_.preparing_patience);
  delayed_send(this, config_.preparing_patience / progress_looks,
               preparation_tick{last_number_});
  return promise_;
}

void shard_manager::end(const preparation_ended& how) {
  // Its thread has nothing left to do: this does not wait.
  if (leaving_.erase(how.number) > 0)
    return;
  state_ = how.problem ? set_state::failed : set_state::ready;
  if (how.problem)
    promise_.deliver(to_error(how.problem, set_->detail()));
  else
    promise_.deliver(set_->about());
}

void shard_manager::check_progress(const preparation_tick& of) {
  if (state_ != set_state::preparing || of.number != last_number_)
    return;
  progress_.arrived(set_->progress() - progress_.bytes(), now());
  if (progress_.stalled(now()))
    return refuse(
        {errc::invalid_data,
         "preparing the data makes no progress: nothing for " +
             std::to_string(config_.preparing_patience.count() / 1000) +
             " s; look at the disks of the sources and of the cache",
         "/data"});
  delayed_send(this, config_.preparing_patience / progress_looks,
               preparation_tick{of.number});
}

/// A set that is still prepared. Its thread is told to end, and is not waited
/// for: it may be in the midst of a large file.
void shard_manager::refuse(const failure& why) {
  set_->stop();
  leaving_.emplace(last_number_, std::move(set_));
  state_ = set_state::none;
  promise_.deliver(to_error(why));
}

void shard_manager::drop() {
  if (state_ == set_state::preparing)
    refuse({errc::stopped, "the run ended while its data were prepared", {}});
  set_.reset();
  state_ = set_state::none;
}

caf::result<placed_shares>
shard_manager::place_within(const place_shares& order) {
  if (state_ != set_state::ready)
    return to_error(not_prepared);
  return place(set_->content(), set_->balance().policy().skew_tv, order);
}

caf::result<balance_answer> shard_manager::observe(const load_view& view) {
  if (state_ != set_state::ready)
    return to_error(not_prepared);
  return set_->balance().observe(view);
}

void shard_manager::set_policy(const set_balance& how) {
  if (state_ != set_state::ready)
    return;
  balance_policy policy = set_->balance().policy();
  policy.enabled = how.enabled;
  policy.skew_tv = how.skew_tv;
  set_->balance().set_policy(policy);
}

control_reply shard_manager::explain(const plan_request& request) const {
  const balancer* planner =
      state_ == set_state::ready ? &set_->balance() : nullptr;
  if (failure why = nothing_to_explain(planner))
    return refused(std::move(why));
  return explained(explain_plan(*planner, request.certificate));
}

control_reply shard_manager::explain(const explain_request& request) const {
  const balancer* planner =
      state_ == set_state::ready ? &set_->balance() : nullptr;
  if (failure why = nothing_to_explain(planner))
    return refused(std::move(why));
  if (request.worker.has_value() == request.chunk.has_value())
    return refused(
        bad_request("explain: give \"worker\" or \"chunk\", one of them"));
  return request.chunk ? explain_chunk_of(*planner, *request.chunk)
                       : explain_worker_of(*planner, *request.worker);
}

} // namespace ballast
