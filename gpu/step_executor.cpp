#include "gpu/step_executor.hpp"

#include "gpu/reduction/canonical.hpp"
#include "gpu/reduction/fused.hpp"
#include "gpu/step_helpers.hpp"
#include "gpu/synchronous.hpp"
#include "gpu/tensor_digests.hpp"
#include "runtime/base/disk_wait.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <span>
#include <utility>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;

namespace {

constexpr std::chrono::seconds told_again_every(1);

/// The job's.
std::unique_ptr<step_method> make_method(const step_executor::parts& with) {
  const train_spec& how = with.what->train;
  std::unique_ptr<reduction> sums;
  if (how.reduction == reduction_kind::canonical) {
    std::vector<model*> models{with.model};
    models.insert(models.end(), with.leaf_models.begin(),
                  with.leaf_models.end());
    sums = std::make_unique<canonical>(
        how, with.row(), std::move(models), with.memory, *with.leaves,
        with.state->abandoned, with.state->flips);
  } else {
    sums =
        std::make_unique<fused>(how, with.row(), *with.model, *with.device,
                                with.memory, with.layout, with.state->unsent);
  }
  return std::make_unique<synchronous>(
      synchronous::parts{&how, with.model, with.optimizer, with.device,
                         &with.memory, with.state},
      std::move(sums));
}

/// With a step that a failure broke off, and whose parameters are here.
bool goes_on(const worker::worker_core& at, const held_state& here) {
  const step_number step = at.stands_at().step;
  return here.holds && step == next(here.step) &&
         step == at.current().kept.step;
}

parameters_digested digests_of(const step_executor::parts& of,
                               step_number after) {
  parameters_digested message;
  message.worker = of.self;
  message.step = after;
  for (const parameter_info& one : of.model->parameters())
    message.tensors.push_back(one.name);
  message.digests =
      tensor_digests(*of.model, *of.device, of.memory, of.image_threads);
  return message;
}

} // namespace

step_executor::step_executor(parts with, worker::worker_core_config config,
                             ledger::plan first,
                             std::optional<worker::worker_core> core,
                             step_listener listener)
    : with_(std::move(with)), config_(std::move(config)),
      first_(std::move(first)), core_(std::move(core)),
      listener_(std::move(listener)),
      prefetcher_(*with_.rows, with_.row().features, *with_.device,
                  with_.images, with_.image_threads),
      method_(make_method(with_)), ahead_(prefetcher_, *method_),
      finite_(with_.what->train, *with_.model, *with_.device, with_.memory),
      judged_(*with_.what, *with_.model, *with_.device, with_.memory,
              *with_.state),
      digests_(with_.what->train) {
  if (with_.what->train.importance.by != importance_score::none)
    chosen_.emplace(with_.what->train.importance, with_.row().features,
                    *with_.device,
                    [this](const batch_view& rows, std::span<float> scores) {
                      method_->score(rows, scores);
                    });
  method_->resume();
  enter(worker_phase::opening);
  draw_first();
  if (core_ && goes_on(*core_, with_.state->held))
    ahead_.begin(with_.what->seed, uint32_t(core_->rank()));
}

void step_executor::enter(worker_phase phase) {
  phase_.store(phase, std::memory_order_relaxed);
}

heartbeat step_executor::now() const {
  heartbeat out;
  out.step = step_number{step_.load(std::memory_order_relaxed)};
  out.phase = phase_.load(std::memory_order_relaxed);
  return out;
}

// -- called by other threads -------------------------------------------------

held_state step_executor::freeze() {
  std::lock_guard lock(gate_);
  frozen_ = true;
  return with_.state->held;
}

void step_executor::abort(const std::string& reason) noexcept {
  std::lock_guard lock(mutex_);
  aborted_ = true;
  if (group_)
    group_->abort(reason);
  if (next_)
    next_->group->abort(reason);
  method_->interrupt();
  prefetcher_.abort();
  posted_.notify_all();
}

step_progress step_executor::drain() {
  std::lock_guard lock(mutex_);
  step_progress out = std::move(progress_);
  progress_ = {};
  if (group_) {
    const uint64_t sent = group_->bytes_sent();
    out.bytes_sent += sent - std::exchange(bytes_told_, sent);
  }
  uint64_t used = with_.store->bytes();
  uint64_t limit = with_.store->limit_bytes();
  out.store_free_bytes = limit - std::min(used, limit);
  if (with_.rows != nullptr)
    out.read = with_.rows->read_so_far();
  return out;
}

void step_executor::tell_after(const fence_order& known, final_ack& out) const {
  std::lock_guard lock(mutex_);
  with_.state->tell_after(known, out);
}

void step_executor::recorded(step_number last) {
  std::lock_guard lock(mutex_);
  with_.state->history.recorded(last);
}

// -- the loop ----------------------------------------------------------------

void step_executor::run(std::unique_ptr<collectives::collective> group,
                        generation_start start) {
  worker_failed problem;
  try {
    {
      std::lock_guard lock(mutex_);
      group_ = std::move(group);
      if (aborted_)
        group_->abort("aborted before the first step");
    }
    watch_peers();
    bring_to_base(start);
    train(start);
    return;
  } catch (const collective_error& e) {
    problem = report_of(e, {});
  } catch (const ballast_error& e) {
    problem.code = e.what_failed().code;
    problem.message = e.what();
  } catch (const std::exception& e) {
    problem.code = errc::device_failed;
    problem.message = e.what();
  }
  const bool refused = problem.code == errc::non_finite_loss ||
                       problem.code == errc::non_finite_gradient;
  if (!refused) // a slower peer may still read the end of such a step
    group_->abort(problem.message); // releases the communication thread
  ahead_.give_up();
  method_->drop();
  problem.worker = with_.self;
  {
    std::lock_guard lock(gate_);
    if (frozen_)
      return; // the abort was requested
  }
  if (refused) {
    problem.step = next(with_.state->held.step);
    problem.sample_ids = refused_ids_;
    // The state before that step may be intact: keep it for inspection.
    if (finite_.damaged_parameter().empty())
      copy_state(true);
  }
  listener_.report(std::move(problem));
}

/// A long forward pass waits for no peer: it should end before the others
/// report the death.
void step_executor::watch_peers() {
  group_->on_peer_lost([this, watched = group_.get()](int rank) {
    {
      std::lock_guard gate(gate_);
      std::lock_guard lock(mutex_);
      // A worker that left a generation may end; that is expected.
      if (frozen_ || aborted_ || group_.get() != watched)
        return;
    }
    worker_failed problem;
    problem.worker = with_.self;
    problem.code = errc::collective_failed;
    problem.message =
        "the process of rank " + std::to_string(rank) + " is gone";
    problem.lost_rank = rank;
    listener_.report(std::move(problem));
  });
}

void step_executor::draw_first() {
  if (!core_ || std::exchange(drawing_, true))
    return;
  if (auto first = core_->draw())
    prefetcher_.submit(std::move(*first));
}

void step_executor::train(const generation_start& start) {
  draw_first();
  if (value(start.evaluate) > 0) {
    ahead_.end();
    evaluate();
  }
  if (judged_.is_over()) {
    ahead_.end();
    return finish();
  }
  if (start.paused && !stand_still())
    return finish();
  while (true) {
    take_posts();
    uint64_t begin_ns = monotonic_ns();
    auto ready = ahead_.take();
    if (!ready)
      break;
    uint64_t data_ns = monotonic_ns() - begin_ns;
    if (auto following = core_->draw())
      prefetcher_.submit(std::move(*following));
    worker::step_end end = do_step(*ready, data_ns);
    if (digests_.is_due(ready->order.at.step))
      listener_.report(digests_of(with_, ready->order.at.step));
    if (end.copy)
      copy_state();
    // The ranks of the step evaluate it, including those that leave then.
    if (end.evaluate)
      evaluate();
    if (end.left)
      return;
    if (end.plan_switched) {
      if (core_->current().generation != ready->order.generation)
        switch_over();
      else if (listener_.replanned)
        listener_.replanned(core_->current());
    }
    if (end.finish || (end.evaluate && judged_.is_over()) ||
        (end.pause && !stand_still()))
      break;
  }
  finish();
}

/// After the configured steps and seconds, and on request. Rank 0 says so for
/// all; each says whether it is ready.
worker::copy_wish step_executor::copy_wish() const {
  worker::copy_wish out;
  if (!listener_.copy)
    return out;
  out.busy = listener_.may_copy && !listener_.may_copy();
  if (group_->rank() != 0)
    return out;
  const checkpoint_spec& how = with_.what->checkpoint;
  out.asked = copy_wanted_;
  out.due = value(core_->copied_after()) % how.every_steps == 0 &&
            (with_.state->copied_ns == 0 ||
             monotonic_ns() - with_.state->copied_ns >=
                 how.copied_every_s() * 1'000'000'000ULL);
  return out;
}

void step_executor::copy_state(bool known_finite) {
  const step_number here = with_.state->held.step;
  copy_wanted_ = false;
  if (!listener_.copy || copied_ == here)
    return;
  if (!known_finite && group_->rank() == 0) // it tells of the copy, or not
    finite_.check_parameters(here);
  copied_ = here;
  with_.state->copied_ns = monotonic_ns();
  if (digests_.is_new(here))
    listener_.report(digests_of(with_, here));
  listener_.copy(here, {uint32_t(group_->rank()), uint32_t(group_->size())});
}

worker::step_end step_executor::do_step(const prefetcher::ready& ready,
                                        uint64_t data_ns) {
  const worker::step_order& order = ready.order;
  step_.store(value(order.at.step), std::memory_order_relaxed);
  enter(worker_phase::compute);
  const uint64_t seed =
      mix(mix(with_.what->seed, value(order.at.step)), core_->rank());
  core_time choosing;
  const batch_view rows =
      chosen_ ? chosen_->choose(ready.view, seed) : ready.view;
  choosing.stop();
  trace(ready); // before the first bucket leaves this process
  core_time passing;
  const double loss_sum = method_->contribute(
      {order.at, order.samples, rows, with_.what->seed, uint32_t(core_->rank()),
       order.leaves, nullptr, group_.get(), core_->current().generation,
       order.checks, ready.checked,
       [&](uint32_t leaf) {
         return prefetcher_.fetch(order.at.epoch, core_->rows_of_leaf(leaf));
       },
       core_->leaves_nothing_out()});
  if (const auto less = method_->take_shrunk(); less && listener_.shrunk)
    listener_.shrunk(*less);
  passing.stop();
  const sampling::importance_times times{choosing.busy_s(), passing.busy_s()};
  slow_down(choosing.wall_ns() + passing.wall_ns());
  passing.stop();
  const uint64_t computed_ns = monotonic_ns();
  enter(worker_phase::reduce);
  worker::trailer sums =
      core_->contribution(order.rows.size(), loss_sum, copy_wish());
  exchange(order, sums);
  const uint64_t reduced_ns = monotonic_ns();
  enter(worker_phase::apply);
  if (listener_.before_change)
    listener_.before_change();
  std::lock_guard gate(gate_);
  if (frozen_)
    throw collective_error(collective_errc::aborted, "frozen before the apply");
  if (failure disagree = core_->reduced(sums))
    throw ballast_error(disagree);
  try {
    method_->apply(order.at, sums, core_->steps_total());
  } catch (const ballast_error&) {
    refused_ids_ = ready.rows->sample_ids;
    throw;
  }
  worker::step_end end = core_->applied();
  const uint64_t applied_ns = monotonic_ns();
  if (chosen_)
    chosen_->stepped(uint32_t(order.rows.size()),
                     {times.scoring, times.gradient,
                      double(applied_ns - computed_ns) / 1e9});
  std::lock_guard lock(mutex_);
  const double loss = double(sums.loss_sum()) / double(order.samples);
  const ledger::step_record record{order.at.step, order.at.epoch, order.plan,
                                   order.samples, loss,           applied_ns};
  with_.state->history.add(record);
  progress_.steps.push_back(record);
  progress_.timings.push_back(
      {data_ns, choosing.wall_ns() + passing.wall_ns(),
       choosing.waited_ns() + passing.waited_ns(), reduced_ns - computed_ns,
       applied_ns - reduced_ns, order.rows.size(), rows.rows,
       method_->rows_kept(), ready.checked.rows});
  return end;
}

/// A step whose leaves contradict each other is not applied: what becomes of it
/// is for the coordinator to say, with a fence.
void step_executor::exchange(const worker::step_order& of,
                             worker::trailer& sums) {
  leaves_contradicted message;
  with_.rows->reducing(true);
  try {
    method_->exchange(sums);
    with_.rows->reducing(false);
    return;
  } catch (const contradiction& found) {
    message.leaves = found.leaves;
  }
  with_.rows->reducing(false);
  message.worker = with_.self;
  message.step = of.at.step;
  // Again and again: the coordinator that heard it may be gone.
  std::unique_lock lock(mutex_);
  for (const auto until = patience();
       !aborted_ && std::chrono::steady_clock::now() < until;) {
    lock.unlock();
    listener_.report(message);
    lock.lock();
    posted_.wait_for(lock, told_again_every, [this] { return aborted_; });
  }
  throw collective_error(collective_errc::aborted,
                         "a step whose leaves have other bits when they are "
                         "computed again is not applied");
}

void step_executor::trace(const prefetcher::ready& ready) {
  if (!listener_.trace)
    return;
  static const std::vector<uint64_t> all;
  disk_wait wait;
  std::chrono::seconds patience(with_.what->elastic.grace_s);
  while (true)
    try {
      listener_.trace(ready.order, ready.rows->sample_ids,
                      chosen_ ? chosen_->used() : all);
      if (wait.waiting())
        enter(worker_phase::compute);
      return;
    } catch (const ballast_error& e) {
      bool waits =
          e.what_failed().code == errc::disk_full &&
          wait.failed(e.what(), std::chrono::nanoseconds(monotonic_ns()),
                      patience);
      if (!waits)
        throw;
      if (phase_.load(std::memory_order_relaxed) != worker_phase::disk_full)
        enter(worker_phase::disk_full);
      std::unique_lock lock(mutex_);
      if (posted_.wait_for(lock, disk_wait::retry_every,
                           [this] { return aborted_; }))
        throw collective_error(collective_errc::aborted,
                               "aborted while the disk was full");
    }
}

/// An injected fault; a fence interrupts it.
void step_executor::slow_down(uint64_t computed_ns) {
  double factor = with_.state->slow_factor.load(std::memory_order_relaxed);
  if (factor <= 1)
    return;
  auto until =
      std::chrono::steady_clock::now() +
      std::chrono::nanoseconds(int64_t((factor - 1) * double(computed_ns)));
  std::unique_lock lock(mutex_);
  posted_.wait_until(lock, until, [this] { return aborted_; });
}

} // namespace ballast::gpu
