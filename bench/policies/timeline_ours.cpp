// Our balancer in the world of timeline.hpp: reports become load views, and its
// proposals are executed as the coordinator would.
#include "bench/policies/timeline.hpp"

#include "runtime/balance/balancer.hpp"
#include "runtime/placement/placement.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace ballast::policies {
namespace {

constexpr uint64_t global_batch = 256;
constexpr uint64_t steps_per_report = 10;
constexpr double step_s = 0.025; // of equal parts, at full speed
constexpr uint64_t row_bytes = 784;

ledger::manifest make_set(const scenario& what) {
  ledger::manifest out;
  out.row.classes = what.classes;
  for (uint32_t i = 0; i < what.classes * what.chunks_per_class; ++i) {
    ledger::chunk_info one;
    one.id = chunk_id(i);
    one.rows = what.chunk_rows;
    one.bytes = what.chunk_rows * row_bytes;
    one.label_histogram.assign(what.classes, 0);
    one.label_histogram[i / what.chunks_per_class] = what.chunk_rows;
    out.train_rows += one.rows;
    out.train.push_back(std::move(one));
  }
  return out;
}

ledger::plan first_of(const scenario& what) {
  ledger::plan out{plan_number{1}, generation{1}, {}};
  for (uint32_t rank = 0; rank < what.workers; ++rank)
    out.shares.push_back({worker_id{rank + 1}, plan_number{1}, 0, {}, rank});
  uint32_t total = what.classes * what.chunks_per_class;
  for (uint32_t i = 0; i < total; ++i) {
    ledger::share& owner =
        out.shares[what.sorted ? size_t(i) * what.workers / total
                               : i % what.workers];
    owner.intervals.push_back({chunk_id(i), 0, what.chunk_rows});
    owner.batch_weight += what.chunk_rows;
  }
  return out;
}

class run_of_ours {
public:
  run_of_ours(const scenario& what, const band& wanted)
      : what_(what), wanted_(wanted), world_(what),
        set_(std::make_shared<ledger::manifest>(make_set(what))),
        now_(first_of(what)),
        planner_(balance::balance_policy{.global_batch = global_batch,
                                         .skew_tv = wanted.skew_tv},
                 set_),
        history_(balance::count_labels(*set_, now_)) {}

  story tell() {
    for (uint64_t tick = 0;
         tick < uint64_t{what_.reports} * what_.ticks_per_report; ++tick) {
      land(tick);
      bool fresh = tick % what_.ticks_per_report == 0;
      if (fresh)
        report();
      if (reports_.size() > what_.reports_late)
        look(tick, fresh);
    }
    return history_.told(balance::count_labels(*set_, now_));
  }

private:
  void land(uint64_t tick) {
    if (!under_way_ || tick < lands_at_)
      return;
    for (const balance::shard_move& one : under_way_->moves)
      history_.add(one.what, one.from, one.to);
    now_ = moved_plan(now_, under_way_->moves, next(now_.number),
                      under_way_->weights);
    under_way_.reset();
    last_ = balance::transfer_end::effective;
  }

  /// Ten steps, and the workers' report about them.
  void report() {
    balance::load_view view;
    view.generation = now_.generation;
    view.number = now_.number;
    if (std::exchange(told_, now_.number) != now_.number)
      view.changed = now_;
    view.steps_per_epoch = set_->train_rows / global_batch;
    view.steps_left_in_epoch = view.steps_per_epoch;
    view.steps_left = 1'000'000;
    view.transfer = under_way_.has_value();
    view.last = std::exchange(last_, balance::transfer_end::none);
    std::vector<double> weights;
    for (const ledger::share& one : now_.shares)
      weights.push_back(double(one.batch_weight));
    std::vector<uint64_t> takes =
        placement::split_by_shares(global_batch, weights);
    double row_s = step_s * what_.workers / double(global_batch);
    double longest = 0;
    for (uint32_t rank = 0; rank < what_.workers; ++rank) {
      double took =
          row_s * double(takes[rank]) / world_.speed(rank, reports_.size());
      longest = std::max(longest, took);
      balance::worker_load load;
      load.worker = now_.shares[rank].worker;
      load.rows_left = rows(now_.shares[rank]);
      load.costs.assign(steps_per_report,
                        {uint32_t(takes[rank]), uint64_t(took * 1e9)});
      view.workers.push_back(std::move(load));
    }
    view.step_us.assign(steps_per_report, uint64_t(longest * 1e6));
    // Rounded up: a window is 250 ms.
    clock_ms_ += uint64_t(std::ceil(1e3 * longest * steps_per_report));
    view.now_ms = clock_ms_;
    band_tracker truth(wanted_, balance::count_labels(*set_, now_),
                       world_.equal_parts());
    history_.note_report(truth.balanced());
    reports_.push_back(std::move(view));
  }

  /// Between two reports the newest one is shown again, without its
  /// measurements.
  void look(uint64_t tick, bool fresh) {
    balance::load_view view =
        reports_[reports_.size() - 1 - what_.reports_late];
    if (!fresh) {
      view.changed = {};
      view.step_us.clear();
      view.last = balance::transfer_end::none;
      for (balance::worker_load& one : view.workers)
        one.costs.clear();
    }
    view.now_ms = clock_ms_ + tick % what_.ticks_per_report;
    balance::balance_answer answer = planner_.observe(view);
    if (answer.state.code != balance::balance_code::planned)
      return;
    if (under_way_ || answer.proposal.base != now_.number) {
      if (last_ == balance::transfer_end::none)
        last_ = balance::transfer_end::dropped;
      return;
    }
    under_way_ = std::move(answer.proposal);
    lands_at_ = tick + 1;
    for (const balance::shard_move& one : under_way_->moves)
      lands_at_ = std::max(lands_at_,
                           tick + world_.ticks_of_move(value(one.what.chunk)));
    history_.note_round();
  }

  scenario what_;
  band wanted_;
  world_parts world_;
  std::shared_ptr<const ledger::manifest> set_;
  ledger::plan now_;
  balance::balancer planner_;
  move_history history_;
  plan_number told_{};
  uint64_t clock_ms_ = 1000;
  std::vector<balance::load_view> reports_;
  std::optional<balance::balance_proposal> under_way_;
  uint64_t lands_at_ = 0;
  balance::transfer_end last_ = balance::transfer_end::none;
};

} // namespace

story play_ours(const scenario& what, const band& wanted) {
  return run_of_ours(what, wanted).tell();
}

} // namespace ballast::policies
