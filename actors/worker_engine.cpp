#include "actors/worker_engine.hpp"

#include "actors/engine_threads.hpp"
#include "actors/state_loading.hpp"
#include "actors/worker_run.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/worker/lifecycle.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace ballast::actors {

void worker_engine::freeze(const std::string& reason) {
  fence({.level = newest(),
         .known = step_number{UINT64_MAX},
         .evaluated = step_number{UINT64_MAX},
         .reason = reason});
}

namespace {

using run_ptr = std::shared_ptr<worker_run>;

/// For the names in a state, so that its copy has all of its room before.
constexpr uint64_t header_room = 1 << 20;

/// What a rank copies of a state of so many bytes.
uint64_t copied_bytes(uint64_t state, const assignment& of) {
  return state / std::max<size_t>(of.first->shares.size(), 1) + header_room;
}

class engine final : public worker_engine {
public:
  engine(engine_config config, engine_listener listener)
      : config_(std::move(config)), listener_(std::move(listener)),
        life_(config_.device_lost != nullptr) {}
  ~engine() override;

  void load(const assignment& order) override {
    locked([&] { return life_.on_assignment(order); });
  }
  void connect(const connect_order& order) override {
    locked([&] { return life_.on_connect(order); });
  }
  void tell(const command& order) override {
    locked([&] { return life_.on_command(order); });
  }
  void offer(const plan_offer& offer) override {
    locked([&] { return life_.on_plan(offer); });
  }
  void fetch(const fetch_order& order) override {
    locked([&] { return life_.on_fetch(order); });
  }
  void leave(const std::string& reason) override {
    locked([&] { return life_.leave(reason); });
  }
  final_ack fence(const fence_order& order) override;
  generation newest() const override {
    std::lock_guard lock(mutex_);
    return life_.newest();
  }
  gpu::step_progress drain() override;
  heartbeat now() const override;

private:
  // -- performing what the lifecycle decided; the lock is held
  template <class Decide>
  void locked(Decide decide) {
    std::lock_guard lock(mutex_);
    perform(decide());
  }
  void perform(const worker::worker_actions& todo) {
    for (const worker::worker_action& one : todo)
      std::visit([this](const auto& what) { perform(what); }, one);
  }
  void perform(const worker::load_share& what);
  void perform(const worker::load_beside& what);
  void perform(const worker::join_ranks& what);
  void perform(const worker::join_beside& what);
  void perform(const worker::drop_run& what);
  void perform(const worker::answer_leave&) { listener_.left(); }
  template <class Order>
  requires requires(worker_run& run, const Order& what) { run.obey(what); }
  void perform(const Order& what) { run_->obey(what); }
  void perform(const worker::post_plan& what) {
    if (run_->executor)
      run_->executor->post(what.pending);
  }
  void perform(const worker::copy_chunks& what);
  void perform(const worker::send_report& report) {
    listener_.report(report.what);
  }
  void perform(const worker::end_process& what) {
    config_.device_lost(what.reason);
  }

  // -- on the threads
  void load_on_thread(worker_run& run, const assignment& order);
  gpu::step_listener listen(worker_run& run);
  /// The generation was stopped: what is done for it is pointless.
  std::function<bool()> stopped(generation of) const {
    return [this, of] {
      std::lock_guard lock(mutex_);
      return !life_.wants(of);
    };
  }

  /// A throw of this work for a generation is a failure to load.
  template <class Work>
  engine_threads::work attempt(generation of, Work work);

  const engine_config config_;
  const engine_listener listener_;
  mutable std::mutex mutex_; // guards all of the following
  worker::worker_lifecycle life_;
  run_ptr run_; // until drop_run is performed
  engine_threads threads_;
};

// -- threads ------------------------------------------------------------------

template <class Work>
engine_threads::work engine::attempt(generation of, Work work) {
  return [this, of, work = std::move(work)]() mutable {
    auto failed = [this, of](worker_failed why) {
      locked([&] { return life_.on_load_failed(of, std::move(why)); });
    };
    try {
      work();
    } catch (const collectives::collective_error& e) {
      failed(report_of(e, of));
    } catch (const damaged_state& e) {
      worker_failed why{{}, of, e.what_failed().code, e.what(), {}, {}};
      why.step = e.after();
      failed(std::move(why));
    } catch (const ballast_error& e) {
      failed({{}, of, e.what_failed().code, e.what(), {}, {}});
    } catch (const std::exception& e) {
      failed({{}, of, errc::internal, e.what(), {}, {}});
    }
  };
}

engine::~engine() {
  std::vector<std::thread> all;
  {
    std::lock_guard lock(mutex_);
    perform(life_.leave("the process ends"));
    all = threads_.take();
  }
  engine_threads::join(all);
}

// -- loading ------------------------------------------------------------------

void engine::perform(const worker::load_share& what) {
  if (!run_)
    run_ = std::make_shared<worker_run>(what.order, config_.device.get());
  threads_.compute(
      attempt(what.order.generation, [this, run = run_, order = what.order] {
        load_on_thread(*run, order);
      }));
}

void engine::perform(const worker::load_beside& what) {
  threads_.beside(
      attempt(what.order.generation, [this, run = run_, order = what.order] {
        run->data.bring_share(order);
        auto opening = open_collective(*run, order, config_.bind_host);
        locked([&]() -> worker::worker_actions {
          if (!life_.wants(order.generation))
            return {};
          run->next_opening = opening;
          return life_.on_loaded(order.generation, opening->address(),
                                 run->data.address(), 0, run->trained.probe);
        });
      }));
}

void engine::load_on_thread(worker_run& run, const assignment& order) {
  run.snapshot.ordered_by(order.term);
  // The old generation's sockets and threads go before the new ones come; the
  // arenas are free then.
  std::shared_ptr<gpu::step_executor> gone;
  std::shared_ptr<collectives::collective_opening> closed;
  std::shared_ptr<collectives::collective_opening> next_closed;
  {
    std::lock_guard lock(mutex_);
    gone = std::move(run.executor);
    closed = std::move(run.opening);
    next_closed = std::move(run.next_opening);
  }
  if (gone)
    gone->end_ahead();
  gone.reset();
  closed.reset();
  next_closed.reset();
  run.data.in_force(*order.first);
  if (auto held =
          load_run(run, order, config_.bind_host, config_.store_limit_bytes,
                   stopped(order.generation))) {
    std::lock_guard lock(mutex_);
    run.trained.state.held = {.holds = true, .step = *held};
    run.trained.state.unsent = {};    // it belongs to the parameters of before
    run.trained.state.abandoned = {}; // likewise
  }
  auto opening = open_collective(run, order, config_.bind_host);
  auto executor = make_executor(run, order, listen(run));
  {
    std::lock_guard lock(mutex_);
    run.opening = opening;
    run.executor = std::move(executor);
  }
  locked([&] {
    return life_.on_loaded(order.generation, opening->address(),
                           run.data.address(), state_bytes(run.trained),
                           run.trained.probe);
  });
}

// -- connecting and training --------------------------------------------------

void engine::perform(const worker::join_ranks& what) {
  threads_.compute(attempt(
      what.order.generation,
      [run = run_, opening = run_->opening, executor = run_->executor,
       order = *life_.present(), what = what.order] {
        auto group = run->plane->connect(order, *opening, *what.addresses);
        executor->run(std::move(group),
                      {what.stale, what.late, what.source, what.evaluate,
                       what.paused, what.judged});
      }));
}

void engine::perform(const worker::join_beside& what) {
  threads_.beside(attempt(
      what.order.generation, [this, run = run_, opening = run_->next_opening,
                              order = *life_.next(), what = what.order] {
        auto group = run->plane->connect(order, *opening, *what.addresses);
        std::unique_ptr<collectives::collective>
            gone; // ends here, where nobody waits
        std::lock_guard lock(mutex_);
        if (!life_.wants(what.generation))
          return;
        gone = run->executor->post(gpu::next_generation{
            order.first,
            std::move(group),
            {what.stale, what.late, what.source, what.evaluate, what.paused}});
      }));
}

gpu::step_listener engine::listen(worker_run& run) {
  gpu::step_listener steps;
  steps.report = [this, &run](worker_report what) {
    if (std::holds_alternative<worker_ready>(what)) {
      std::lock_guard lock(mutex_);
      if (const assignment* here = life_.present())
        run.snapshot.make_room(copied_bytes(state_bytes(run.trained), *here));
    }
    locked([&] { return life_.on_report(std::move(what)); });
  };
  steps.switched = [this, &run] {
    std::lock_guard lock(mutex_);
    if (!life_.on_switched())
      return;
    run.opening = std::move(run.next_opening);
    run.data.in_force(*life_.present()->first);
  };
  steps.replanned = [&run](const ledger::plan& now) { run.data.in_force(now); };
  steps.shrunk = [this](uint32_t rows) {
    monitor::log().warn(
        "{} has no room for a micro-batch of more rows than {}; "
        "train.micro_batch sets the limit by hand",
        config_.device ? config_.device->name() : "this machine", rows);
  };
  steps.may_copy = [&run] { return !run.snapshot.is_fetched(); };
  steps.copy = [this, &run](step_number after, gpu::state_slice mine) {
    run.snapshot.begin(after, state_image(run.trained, run.name, after),
                       mine.rank, mine.world);
    // Who asks for the parts waits until they are complete.
    if (mine.rank == 0)
      locked([&] { return life_.on_report(state_copied{{}, {}, after}); });
  };
  steps.before_change = [&run] { run.snapshot.await(); };
  return steps;
}

void engine::perform(const worker::copy_chunks& what) {
  run_->data.awaits(what.order);
  threads_.copy(
      attempt(what.order.generation,
              [this, run = run_, self = *life_.present(), order = what.order] {
                auto unwanted = [this, number = order.number] {
                  std::lock_guard lock(mutex_);
                  return !life_.wants_copy(number);
                };
                chunks_fetched done = run->data.fetch(self, order, unwanted);
                locked([&] { return life_.on_fetched(std::move(done)); });
              }));
}

gpu::step_progress engine::drain() {
  gpu::step_progress out;
  run_ptr run;
  shared_value<ledger::plan> next;
  worker_id self{};
  {
    std::lock_guard lock(mutex_);
    if (!run_ || !run_->executor)
      return {};
    run = run_;
    out = run->executor->drain();
    if (const assignment* here = life_.present())
      self = here->worker;
    if (const assignment* beside = life_.next())
      next = beside->first;
  }
  // Frees memory, perhaps much.
  run->data.release(out.steps, next->shares.empty() ? nullptr : &*next, self);
  return out;
}

heartbeat engine::now() const {
  std::lock_guard lock(mutex_);
  heartbeat out;
  out.phase = life_.phase();
  if (!run_)
    return out;
  if (run_->executor)
    out = run_->executor->now();
  if (const assignment* here = life_.present()) {
    out.worker = here->worker;
    out.generation = here->generation;
  }
  std::tie(out.share_bytes, out.arrived_bytes) = run_->data.coming();
  if (run_->opening)
    out.silent = run_->opening->silent();
  return out;
}

// -- stopping -----------------------------------------------------------------

final_ack engine::fence(const fence_order& order) {
  final_ack out;
  out.level = order.level;
  run_ptr run;
  std::shared_ptr<gpu::step_executor> executor;
  {
    std::lock_guard lock(mutex_);
    // Its action is what follows, without the lock: an apply that is waited for
    // delays no heartbeat. Once more does no harm.
    (void)life_.on_fence(order);
    if (!life_.may_hold_state())
      return out;
    out.worker = life_.present()->worker;
    run = run_;
    executor = run->executor;
  }
  run->data.hold();
  run->snapshot.ordered_by(order.term);
  gpu::held_state held;
  if (executor) {
    held = executor->freeze();
    executor->tell_after(order, out);
    executor->abort(order.reason);
  }
  std::lock_guard lock(mutex_);
  if (!executor) {
    held = run->trained.state.held;
    run->trained.state.tell_after(order, out);
  }
  run->abort_openings(order.reason);
  if (run->opening)
    out.links = run->opening->silent();
  out.holds_state = held.holds;
  out.step = held.step;
  out.lacks_last_step = !held.last_step;
  return out;
}

void engine::perform(const worker::drop_run& what) {
  run_->abort_openings(what.reason);
  if (run_->executor)
    run_->executor->abort(what.reason);
  // What comes next loads on the same thread, behind this.
  threads_.last(attempt({}, [this, run = std::move(run_)]() mutable {
    run.reset();
    locked([&] { return life_.on_dropped(); });
  }));
}

} // namespace

std::unique_ptr<worker_engine> make_worker_engine(engine_config config,
                                                  engine_listener listener) {
  return std::make_unique<engine>(std::move(config), std::move(listener));
}

} // namespace ballast::actors
