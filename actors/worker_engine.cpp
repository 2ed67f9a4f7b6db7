#include "actors/worker_engine.hpp"

#include "actors/chunk_copier.hpp"
#include "actors/run_parts.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

namespace ballast {

namespace {

using namespace std::chrono_literals;

/// Says of whom and of which generation it is.
void stamp(worker_report& report, worker_id self, generation of) {
  std::visit(
      [&](auto& what) {
        what.worker = self;
        if constexpr (requires { what.generation; })
          what.generation = of;
      },
      report);
}

class engine final : public worker_engine {
public:
  engine(engine_config config, engine_listener listener)
      : config_(std::move(config)), listener_(std::move(listener)) {}
  ~engine() override { leave("the process ends"); }

  void load(const assignment& what) override;
  void connect(const connect_order& what) override;
  final_ack fence(const fence_order& what) override;
  void freeze(const std::string& reason) override;
  generation newest() const override;
  void tell(const command& what) override;
  void offer(const plan_offer& what) override;
  void fetch(const fetch_order& what) override;
  step_progress drain() override;
  heartbeat now() const override;
  void leave(const std::string& reason) override;

private:
  void do_load(run_parts& parts, const assignment& order);
  void load_beside(run_parts& parts, const assignment& order);
  void connect_beside(run_parts& parts, const connect_order& what);
  std::function<bool()> fenced_before(generation of) const {
    return [this, of] { // a transfer is pointless then
      std::lock_guard lock(mutex_);
      return leaving_ || of <= fenced_;
    };
  }
  void prepare_collective(run_parts& parts);
  step_listener listen(run_parts& parts);
  void failed(run_parts& parts, generation of, worker_failed message);
  /// Runs `work` on the engine's thread; a throw becomes worker_failed.
  template <class Work>
  void background(std::thread& on, run_parts& parts, generation of, Work work);

  engine_config config_;
  engine_listener listener_;
  mutable std::mutex mutex_; // guards parts_, its executor, and the next three
  generation fenced_{};      // nothing up to this one goes on
  bool leaving_ = false;     // nothing at all does
  std::unique_ptr<run_parts> parts_;
  worker_phase phase_ = worker_phase::idle;
  std::thread thread_;               // loads, connects, then is the step thread
  std::thread beside_;               // opens the next generation meanwhile
  std::thread copier_;               // gets chunks that are to be owned soon
  std::atomic<uint64_t> copying_{0}; // the plan that it copies for
};

template <class Work>
void engine::background(std::thread& on, run_parts& parts, generation of,
                        Work work) {
  // What went before may still be on its way out of a long forward pass; the
  // caller does not wait for that.
  std::vector<std::thread> before;
  bool in_front = &on == &thread_;
  before.push_back(std::move(on));
  if (in_front)
    before.push_back(std::move(beside_));
  on = std::thread(
      [this, &parts, of, work, in_front, before = std::move(before)]() mutable {
        set_thread_name(in_front ? "bl-compute" : "bl-next-gen");
        for (std::thread& one : before)
          if (one.joinable())
            one.join();
        try {
          work();
        } catch (const collective_error& e) {
          failed(parts, of, report_of(e, of));
        } catch (const ballast_error& e) {
          failed(parts, of, {{}, of, e.what_failed().code, e.what(), {}, {}});
        } catch (const std::exception& e) {
          failed(parts, of, {{}, of, errc::internal, e.what(), {}, {}});
        }
      });
}

void engine::failed(run_parts& parts, generation of, worker_failed message) {
  {
    std::lock_guard lock(mutex_);
    // What a fence broke off has not failed.
    if (of <= fenced_)
      return;
    message.worker = parts.order.worker;
  }
  listener_.report(std::move(message));
}

// -- loading ------------------------------------------------------------------
void engine::load(const assignment& what) {
  run_parts* parts = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (what.generation <= fenced_)
      return;
    if (parts_ && parts_->order.run == what.run &&
        parts_->order.worker == what.worker && !what.from_seed &&
        !what.from_checkpoint)
      parts = parts_.get();
    // Who trains gets ready beside it; who does not is a newcomer, also with
    // what an earlier attempt left here.
    if (parts && what.beside && parts->executor &&
        parts->order.generation > fenced_) {
      parts->next_order = what;
      background(beside_, *parts, what.generation,
                 [this, parts, what] { load_beside(*parts, what); });
      return;
    }
  }
  if (!parts) {
    leave("a new assignment");
    std::lock_guard lock(mutex_);
    parts_ = std::make_unique<run_parts>();
    parts = parts_.get();
    if (config_.device)
      parts->device = config_.device.get();
  }
  {
    std::lock_guard lock(mutex_);
    phase_ = worker_phase::loading;
  }
  background(thread_, *parts, what.generation,
             [this, parts, what] { do_load(*parts, what); });
}

void engine::load_beside(run_parts& parts, const assignment& order) {
  fetch_chunks(parts, order, fenced_before(order.generation));
  auto opening = open_collective(parts, order, config_.bind_host);
  worker_loaded message;
  {
    std::lock_guard lock(mutex_);
    if (order.generation <= fenced_)
      return;
    parts.next_opening = std::move(opening);
    message = {order.worker, order.generation, parts.next_opening->address(),
               parts.service->address()};
  }
  listener_.report(message);
}

void engine::connect_beside(run_parts& parts, const connect_order& what) {
  auto group = connect_collective(parts, *parts.next_order, *parts.next_opening,
                                  *what.addresses);
  std::unique_ptr<collective> gone; // ends here, where nobody waits for it
  std::lock_guard lock(mutex_);
  if (what.generation <= fenced_ || !parts.executor)
    return;
  gone = parts.executor->post(next_generation{
      parts.next_order->first,
      std::move(group),
      {what.stale, what.late, what.source, what.evaluate, what.paused}});
}

void engine::do_load(run_parts& parts, const assignment& order) {
  // The old generation's sockets and threads go before the new ones come; the
  // arenas are free then.
  std::unique_ptr<step_executor> gone;
  std::unique_ptr<collective_opening> closed;
  {
    std::lock_guard lock(mutex_);
    gone = std::move(parts.executor);
    closed = std::move(parts.opening);
    parts.next_opening.reset();
    parts.next_order.reset();
    parts.order = order;
    parts.release.in_force(*order.first);
  }
  gone.reset();
  closed.reset();
  const auto given_up = fenced_before(order.generation);
  if (parts.network) {
    fetch_chunks(parts, order, given_up);
  } else {
    const step_number held =
        load_run(parts, config_.bind_host, config_.store_limit_bytes, given_up);
    std::lock_guard lock(mutex_);
    parts.state.held = {true, held};
  }
  prepare_collective(parts);
  worker_loaded message;
  {
    std::lock_guard lock(mutex_);
    if (order.generation <= fenced_)
      return;
    phase_ = worker_phase::opening;
    message = {order.worker, order.generation, parts.opening->address(),
               parts.service->address()};
  }
  listener_.report(message);
}

void engine::prepare_collective(run_parts& parts) {
  auto opening = open_collective(parts, parts.order, config_.bind_host);
  worker_core_config config{
      {parts.what.seed, parts.what.train.global_batch, {}},
      parts.order.worker,
      parts.what.train.epochs};
  for (const chunk_info& one : parts.set.train)
    config.ledger.chunk_rows.push_back(one.rows);
  std::optional<worker_core> core;
  if (!parts.order.beside)
    core.emplace(config, *parts.order.first, parts.order.start,
                 *parts.order.cursors);
  auto executor = std::make_unique<step_executor>(
      step_executor::parts{&parts.what, &parts.set, parts.store.get(),
                           parts.network.get(), parts.update.get(),
                           parts.memory, &parts.state, parts.layout,
                           parts.order.worker, parts.device},
      std::move(config), *parts.order.first, std::move(core), listen(parts));
  std::lock_guard lock(mutex_);
  parts.opening = std::move(opening);
  parts.executor = std::move(executor);
}

step_listener engine::listen(run_parts& parts) {
  step_listener steps;
  steps.report = [this, &order = parts.order](worker_report report) {
    // What a device lost, it lost for this process: another one may go on.
    if (auto* failed = std::get_if<worker_failed>(&report))
      if (failed->code == errc::device_failed && config_.device_lost)
        return config_.device_lost(failed->message);
    stamp(report, order.worker, order.generation);
    listener_.report(std::move(report));
  };
  steps.switched = [this, &parts] {
    std::lock_guard lock(mutex_);
    parts.order = *std::exchange(parts.next_order, std::nullopt);
    parts.opening = std::move(parts.next_opening);
    parts.release.in_force(*parts.order.first);
  };
  steps.replanned = [this, &parts](const plan& now) {
    std::lock_guard lock(mutex_);
    parts.release.in_force(now);
  };
  steps.copy = [this, &parts](step_number after) {
    auto bytes = std::make_shared<const std::string>(state_bytes(parts, after));
    {
      std::lock_guard lock(parts.copy_lock);
      parts.copy = {after, std::move(bytes)};
    }
    listener_.report(
        state_copied{parts.order.worker, parts.order.generation, after});
  };
  trace_steps(parts, steps);
  return steps;
}

// -- training -----------------------------------------------------------------
void engine::connect(const connect_order& what) {
  run_parts* parts = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!parts_ || !parts_->executor || what.generation <= fenced_)
      return;
    parts = parts_.get();
    if (parts->next_order && parts->next_order->generation == what.generation) {
      background(beside_, *parts, what.generation,
                 [this, parts, what] { connect_beside(*parts, what); });
      return;
    }
    if (parts->order.generation != what.generation)
      return;
  }
  background(thread_, *parts, what.generation, [parts, what] {
    auto group = connect_collective(*parts, parts->order, *parts->opening,
                                    *what.addresses);
    parts->executor->run(std::move(group), {what.stale, what.late, what.source,
                                            what.evaluate, what.paused});
  });
}

final_ack engine::fence(const fence_order& what) {
  std::lock_guard lock(mutex_);
  fenced_ = std::max(fenced_, what.level);
  final_ack out;
  out.level = what.level;
  copying_ = 0;
  if (!parts_)
    return out;
  run_parts& parts = *parts_;
  out.worker = parts.order.worker;
  held_state held = parts.state.held;
  if (!parts.executor) {
    parts.state.tell_after(what, out);
  } else {
    held = parts.executor->freeze();
    parts.executor->tell_after(what, out);
    parts.executor->abort(what.reason);
  }
  for (auto* opening : {&parts.opening, &parts.next_opening})
    if (*opening)
      (*opening)->abort(what.reason);
  if (parts.opening)
    out.links = parts.opening->silent();
  out.holds_state = held.holds;
  out.step = held.step;
  return out;
}

void engine::freeze(const std::string& reason) {
  fence({.level = newest(),
         .known = step_number{UINT64_MAX},
         .evaluated = epoch_number{UINT64_MAX},
         .reason = reason});
}

generation engine::newest() const {
  std::lock_guard lock(mutex_);
  generation out = fenced_;
  if (parts_)
    out = std::max(out, parts_->order.generation);
  if (parts_ && parts_->next_order)
    out = std::max(out, parts_->next_order->generation);
  return out;
}

void engine::tell(const command& what) {
  std::lock_guard lock(mutex_);
  if (parts_ && what.kind == command_kind::slow)
    parts_->state.slow_factor = what.factor;
  else if (parts_ && what.kind == command_kind::damage)
    parts_->damage_next = what.chunks;
  else if (parts_ && what.kind == command_kind::recorded && parts_->executor)
    parts_->executor->recorded(what.step);
  else if (parts_ && parts_->executor &&
           parts_->order.generation == what.generation)
    parts_->executor->post(what.kind);
}

void engine::offer(const plan_offer& what) {
  std::lock_guard lock(mutex_);
  if (parts_ && parts_->executor &&
      parts_->order.generation <= what.what.generation)
    parts_->executor->post(what.what);
}

void engine::fetch(const fetch_order& what) {
  std::lock_guard lock(mutex_);
  if (!parts_ || !parts_->executor || what.generation <= fenced_ ||
      parts_->order.generation != what.generation)
    return;
  copying_ = value(what.number);
  parts_->release.fetching(what);
  copier_ = std::thread([this, what, &parts = *parts_, order = parts_->order,
                         before = std::move(copier_)]() mutable {
    name_this_thread("bl-copy");
    if (before.joinable())
      before.join();
    auto given_up = [&] {
      return copying_.load(std::memory_order_relaxed) != value(what.number);
    };
    chunks_fetched done =
        copy_chunks(*parts.store, parts.set, order, what, given_up);
    if (!given_up())
      listener_.report(done);
  });
}

step_progress engine::drain() {
  std::lock_guard lock(mutex_);
  if (!parts_ || !parts_->executor)
    return {};
  step_progress out = parts_->executor->drain();
  release_chunks(*parts_, out.steps);
  return out;
}

heartbeat engine::now() const {
  std::lock_guard lock(mutex_);
  heartbeat out;
  out.phase = phase_;
  if (parts_ && parts_->executor)
    out = parts_->executor->now();
  if (parts_) {
    out.worker = parts_->order.worker;
    out.generation = parts_->order.generation;
    std::tie(out.share_bytes, out.arrived_bytes) = parts_->coming.now();
    if (parts_->opening)
      out.silent = parts_->opening->silent();
  }
  return out;
}

void engine::leave(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
    if (parts_)
      for (auto* opening : {&parts_->opening, &parts_->next_opening})
        if (*opening)
          (*opening)->abort(reason);
    if (parts_ && parts_->executor)
      parts_->executor->abort(reason);
  }
  copying_ = 0;
  for (std::thread* one : {&copier_, &beside_, &thread_})
    if (one->joinable())
      one->join();
  std::unique_ptr<run_parts> gone;
  {
    std::lock_guard lock(mutex_);
    gone = std::move(parts_);
    phase_ = worker_phase::idle;
    leaving_ = false;
  }
  if (gone && gone->service)
    gone->service->shutdown(1s);
}

} // namespace

std::unique_ptr<worker_engine> make_worker_engine(engine_config config,
                                                  engine_listener listener) {
  return std::make_unique<engine>(std::move(config), std::move(listener));
}

} // namespace ballast
