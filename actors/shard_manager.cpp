#include "actors/shard_manager.hpp"

#include "actors/handler_exception.hpp"
#include "actors/planner.hpp"
#include "actors/types.hpp"
#include "runtime/balance/repair.hpp"
#include "runtime/job/leaves_of.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace ballast::actors {

namespace {

/// So often within the patience.
constexpr int progress_looks = 20;

const failure not_prepared{errc::bad_request, "no data set is prepared", {}};

} // namespace

shard_manager::shard_manager(caf::actor_config& actor,
                             shard_manager_config config)
    : shard_manager_actor::base(actor), config_(std::move(config)) {
  on_handler_exception(this, "shard manager", config_.on_defect);
  planner_ = spawn<planner, caf::detached>(config_.on_defect);
}

shard_manager::behavior_type shard_manager::make_behavior() {
  return {
      [this](const prepare_set& order) { return prepare(order); },
      [this](const balance::place_shares& order) {
        return place_within(order);
      },
      // The planner answers whoever asked.
      [this](const balance::load_view& view)
          -> caf::result<balance::balance_answer> {
        if (foreseen_ && !view.changed.shares.empty())
          foreseen_->in_force(view.changed, policy_.skew_tv);
        return delegate(planner_, load_look{view, looks_.get_token()});
      },
      [this](const plan_request& request) -> caf::result<control_reply> {
        return delegate(planner_, request);
      },
      [this](const explain_request& request) -> caf::result<control_reply> {
        return delegate(planner_, request);
      },
      [this](const set_balance& how) { set_policy(how); },
      [this](const serve_file& what) {
        if (set_)
          set_->serve(what.path);
      },
      [this](const drop_set&) { drop(); },
      [this](const fragment_helper& one) {
        if (!one.handle)
          return config_.apart.helpers->gone(one.who);
        config_.apart.helpers->joined(
            one.who, one.name, [to = one.handle](const prepare_fragment& what) {
              caf::anon_send(to, what);
            });
      },
      [this](const fragment_ready& what) {
        config_.apart.helpers->answered(what);
      },
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
  foreseen_.reset();
  set_.reset();
  leaving_.clear();
  config_.apart.helpers.reset(); // it has handles of workers
  promise_ = {};
  stop_looks();
  send_exit(planner_, caf::exit_reason::user_shutdown);
  planner_ = planner_actor{};
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
  const job& what = order.what;
  policy_ = {};
  policy_.enabled = what.balance.enabled;
  policy_.skew_tv = what.balance.skew_tv;
  policy_.global_batch = what.train.global_batch;
  policy_.leaves = leaves_of(what.train);
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
  if (how.problem) {
    promise_.deliver(to_error(how.problem, set_->detail()));
    return;
  }
  foreseen_ =
      std::make_unique<foreseen_repairs>(set_->content(), set_->labels());
  send(planner_, plan_on{set_->content(), set_->labels(), policy_});
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

void shard_manager::stop_looks() {
  looks_.request_stop();
  looks_ = {};
}

void shard_manager::drop() {
  stop_looks();
  foreseen_.reset();
  if (state_ == set_state::preparing)
    refuse({errc::stopped, "the run ended while its data were prepared", {}});
  set_.reset();
  state_ = set_state::none;
  send(planner_, drop_set{});
}

caf::result<placed_shares>
shard_manager::place_within(const balance::place_shares& order) {
  if (state_ != set_state::ready)
    return to_error(not_prepared);
  // What is searched for now is for workers that train no more, and the cores
  // are wanted by those that recover.
  stop_looks();
  if (const auto known = foreseen_->take(order))
    return place(*set_->content(), *set_->labels(), *known, order);
  return place(*set_->content(), *set_->labels(), policy_.skew_tv, order);
}

void shard_manager::set_policy(const set_balance& how) {
  if (state_ != set_state::ready)
    return;
  policy_.enabled = how.enabled;
  policy_.skew_tv = how.skew_tv;
  send(planner_, policy_);
}

} // namespace ballast::actors
