/// A run in virtual time that the balancer watches: a real ledger, takes of
/// whole rows at each worker's speed, and plans that take effect some steps
/// later.
#pragma once

#include "runtime/balance/balancer.hpp"
#include "runtime/base/check.hpp"
#include "runtime/ledger/ledger.hpp"
#include "tests/runtime/balance/moves_account.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ballast::testing {

struct balanced_options {
  uint64_t batch = 100;
  uint32_t leaves = 0; // of a step of order global
  double skew_tv = 0.1;
  double noise = 0.02; // of a take, to either side
  double row_us = 250; // of a worker of speed 1
  uint64_t steps = 2000;
  uint64_t seed = 1;
  uint64_t delay = 3;    // steps until a plan takes effect
  uint64_t one_look = 3; // in so many steps, by chance
  /// Of the run, as the balancer is told; nothing: what is left of `steps`.
  std::optional<uint64_t> steps_left = std::nullopt;
  /// Steps at which speeds change for good: what moves then is told apart.
  std::vector<uint64_t> disturbed = {};
  /// Speed of a rank at a step, in rows; 1 = row_us.
  std::function<double(size_t, uint64_t)> speed = [](size_t, uint64_t) {
    return 1.0;
  };
};

class balanced_run {
public:
  struct landed {
    uint64_t step = 0;
    balance::balance_cause cause{};
    uint64_t moved = 0;
    uint64_t bound = 0;
    double skew = 0; // the largest, afterwards
    std::string reason;
  };

  balanced_run(const ledger::manifest& set, balanced_options options)
      : balanced_run(set, placed(set), std::move(options)) {}
  balanced_run(const ledger::manifest& set, ledger::plan first,
               balanced_options options)
      : in_(std::move(options)), random_(in_.seed),
        set_(std::make_shared<ledger::manifest>(set)), now_(std::move(first)),
        account_(now_), book_({.seed = 1,
                               .global_batch = in_.batch,
                               .chunk_rows = chunk_rows(*set_),
                               .leaves = in_.leaves},
                              now_),
        planner_(balance::balance_policy{.global_batch = in_.batch,
                                         .leaves = in_.leaves,
                                         .skew_tv = in_.skew_tv},
                 set_) {}

  void run() {
    for (uint64_t step = 1; step <= in_.steps; ++step) {
      if (std::find(in_.disturbed.begin(), in_.disturbed.end(), step) !=
          in_.disturbed.end())
        account_.close(*set_, now_, in_.skew_tv);
      if (under_way_ && step == due_)
        land(step);
      take(step);
      if (random_.one_in(in_.one_look)) // not in step with the epochs
        look(step);
    }
    account_.close(*set_, now_, in_.skew_tv);
  }

  const std::vector<landed>& plans() const { return plans_; }
  uint64_t moved() const {
    return std::accumulate(plans_.begin(), plans_.end(), uint64_t{0},
                           [](auto sum, auto& one) { return sum + one.moved; });
  }
  double skew() const {
    return max_of(skews(balance::count_labels(*set_, now_)));
  }
  const moves_account& account() const { return account_; }
  const ledger::plan& now() const { return now_; }
  balance::balancer& planner() { return planner_; }
  /// The best split of each step over what was done, of the last half.
  double part_of_ideal() const { return ideal_s_ / spent_s_; }

  std::string story() const {
    std::ostringstream out;
    for (const landed& one : plans_)
      out << "step " << one.step << ": " << to_string(one.cause) << " moved "
          << one.moved << " (bound " << one.bound << "), skew " << one.skew
          << ": " << one.reason << "\n";
    return out.str();
  }

private:
  void land(uint64_t step) {
    ledger::plan next_one = moved_plan(now_, under_way_->moves,
                                       next(now_.number), under_way_->weights);
    auto refused = book_.switch_to(next_one);
    BALLAST_CHECK(!refused, refused.value_or(""));
    account_.moved(under_way_->moves);
    now_ = std::move(next_one);
    last_ = balance::transfer_end::effective;
    plans_.push_back({step, under_way_->cause, under_way_->moved_rows,
                      under_way_->bound_rows, skew(), under_way_->reason});
    under_way_.reset();
  }

  /// One step; everybody takes as long as its rows do, by its luck.
  void take(uint64_t step) {
    const std::vector<uint64_t> takes = book_.takes();
    const uint64_t all =
        std::accumulate(takes.begin(), takes.end(), uint64_t{0});
    std::vector<balance::step_cost> speeds(takes.size());
    for (size_t rank = 0; rank < takes.size(); ++rank)
      speeds[rank].per_row_s = in_.row_us * 1e-6 / in_.speed(rank, step);
    const std::vector<uint64_t> best = split_by_cost(all, speeds).rows;
    double longest = 0;
    double shortest = 0; // that any split has, with the same luck
    costs_.resize(takes.size());
    for (size_t rank = 0; rank < takes.size(); ++rank) {
      const double off = double(random_.below(2001)) / 1000 - 1; // -1 to 1
      const double row_s = speeds[rank].per_row_s * (1 + in_.noise * off);
      const double s = row_s * double(takes[rank]);
      longest = std::max(longest, s);
      shortest = std::max(shortest, row_s * double(best[rank]));
      if (takes[rank] > 0)
        costs_[rank].push_back({uint32_t(takes[rank]), uint64_t(s * 1e9)});
    }
    if (step > in_.steps / 2) {
      spent_s_ += longest;
      ideal_s_ += shortest;
    }
    now_us_ += longest * 1e6;
    step_us_.push_back(uint64_t(longest * 1e6));
    book_.advance();
  }

  void look(uint64_t step) {
    balance::load_view view;
    view.generation = now_.generation;
    view.number = now_.number;
    if (std::exchange(seen_, now_.number) != now_.number)
      view.changed = now_;
    view.now_ms = 1000 + uint64_t(now_us_ / 1000);
    view.steps_per_epoch = book_.steps_per_epoch();
    view.steps_left_in_epoch =
        view.steps_per_epoch - step % view.steps_per_epoch;
    view.steps_left = in_.steps_left.value_or(in_.steps - step);
    view.step_us = std::exchange(step_us_, {});
    view.transfer = under_way_.has_value();
    view.last = std::exchange(last_, balance::transfer_end::none);
    for (size_t rank = 0; rank < now_.shares.size(); ++rank) {
      balance::worker_load load;
      load.worker = now_.shares[rank].worker;
      load.name = "w" + std::to_string(rank + 1);
      load.rows_left = book_.rows_left(rank);
      load.costs = std::move(costs_[rank]);
      view.workers.push_back(std::move(load));
    }
    costs_.clear();
    balance::balance_answer answer = planner_.observe(view);
    if (answer.state.code != balance::balance_code::planned)
      return;
    under_way_ = std::move(answer.proposal);
    due_ = step + in_.delay;
  }

  balanced_options in_;
  test_random random_;
  std::shared_ptr<const ledger::manifest> set_;
  ledger::plan now_;
  moves_account account_;
  ledger::ledger book_;
  balance::balancer planner_;
  plan_number seen_{};
  double now_us_ = 0;
  double ideal_s_ = 0;
  double spent_s_ = 0;
  std::vector<uint64_t> step_us_;
  std::vector<std::vector<take_cost>> costs_;
  std::optional<balance::balance_proposal> under_way_;
  uint64_t due_ = 0;
  balance::transfer_end last_ = balance::transfer_end::none;
  std::vector<landed> plans_;
};

} // namespace ballast::testing
