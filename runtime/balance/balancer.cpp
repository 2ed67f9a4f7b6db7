// The part of the balancer that reads a view.
#include "runtime/balance/balancer.hpp"

#include "runtime/balance/median.hpp"
#include "runtime/balance/weighed.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace ballast {

namespace {

constexpr size_t calm_steps_max = 64;
/// Least number of steps with and without a transfer that are compared.
constexpr size_t compared_steps_min = 8;

} // namespace

balancer::balancer(balance_policy policy, std::shared_ptr<const manifest> set,
                   std::shared_ptr<const chunk_labels> labels)
    : policy_(policy), set_(std::move(set)),
      labels_(labels ? std::move(labels)
                     : std::make_shared<const chunk_labels>(*set_)),
      rate_bytes_per_s_(policy.rate_bytes_per_s) {
  uint64_t bytes = 0;
  uint64_t rows = 0;
  for (const chunk_info& one : set_->train) {
    bytes += one.bytes;
    chunk_bytes_max_ = std::max(chunk_bytes_max_, one.bytes);
    chunk_rows_max_ = std::max(chunk_rows_max_, one.rows);
    rows += one.rows;
  }
  row_bytes_ = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, rows));
}

const speed_estimate* balancer::speed_of(worker_id who) const {
  auto found = speeds_.find(who);
  return found == speeds_.end() ? nullptr : &found->second;
}

std::optional<uint64_t> balancer::windows_since_move(chunk_id id) const {
  std::optional<uint64_t> out;
  for (const auto& [what, when] : moved_)
    if (what.chunk == id)
      out = std::min(out.value_or(UINT64_MAX), window_ - when);
  return out;
}

balance_answer balancer::observe(const load_view& view,
                                 search_effort::stop_asked stop) {
  balance_answer out;
  effort_ = search_effort(policy_.search_effort, std::move(stop));
  take_in(view);
  last_view_ = view;
  for (worker_load& one : last_view_.workers)
    one.costs.clear();
  last_view_.changed = {};
  last_view_.copies.clear();
  const std::pair pauses(moves_pause_, coverage_pause_);
  state_.code = decide(view, out.proposal);
  if (effort_.stopped()) {
    state_.code = balance_code::undecided;
    out.proposal = {};
    proposed_ = {};
    std::tie(moves_pause_, coverage_pause_) = pauses;
  }
  effort_ = {}; // lets go of whatever `stop` holds
  if (state_.code == balance_code::planned) {
    for (const shard_move& one : out.proposal.moves)
      proposed_.arrivals.push_back(
          {one.what.chunk, plan_->shares.at(one.to).worker});
  }
  out.state = state_;
  out.state.why = sentence(*this);
  if (plan_)
    out.state.would_change = would_change(*this);
  return out;
}

void balancer::take_in(const load_view& view) {
  // Moves of our own plans lead to the same end and stay in the same round.
  const bool same_round =
      view.last == transfer_end::effective && !proposed_.by_speed && plan_;
  if (view.last == transfer_end::effective) {
    for (const arrival& one : proposed_.arrivals)
      moved_[one] = window_;
    // Whole groups rarely lead exactly to what is asked for. Without this the
    // next search would try again, with the same rows.
    if (proposed_.by_speed && set_->whole_chunks && plan_ &&
        placed_ == plan_->generation &&
        state_.makespan_ratio >= 1 + policy_.gain_min)
      given_.clear(); // quite other sizes are asked for
    if (proposed_.to_measure || proposed_.for_holders || set_->whole_chunks)
      given_.insert(proposed_.arrivals.begin(), proposed_.arrivals.end());
    else if (!proposed_.arrivals.empty())
      given_.clear();
    if (!proposed_.arrivals.empty() && !proposed_.to_measure && plan_)
      placed_ = plan_->generation;
    if (proposed_.by_speed)
      note_speeds(view.changed);
    else
      rest_ = std::move(proposed_.rest);
    failures_ = 0;
  } else if (view.last == transfer_end::failed &&
             ++failures_ >= policy_.failures_max) {
    stalled_until_ = window_ + policy_.stalled_windows;
    failures_ = 0;
  }
  if (view.last != transfer_end::none) {
    adapt_rate();
    proposed_ = {};
  }
  if (!view.changed.shares.empty()) {
    if (view.last != transfer_end::effective) {
      rest_ = {}; // a worker joined or left
      if (set_->whole_chunks)
        given_.clear();
    }
    new_plan(view.changed, same_round);
  }
  for (const link_copy& one : view.copies)
    links_.add(one);
  for (const worker_load& worker : view.workers) {
    speed_estimate& speed = speeds_[worker.worker];
    for (const take_cost& one : worker.costs)
      speed.add(one.rows, double(one.compute_ns) / 1e9,
                double(one.waited_ns) / 1e9);
  }
  std::vector<uint64_t>& steps = view.transfer ? moving_us_ : calm_us_;
  steps.insert(steps.end(), view.step_us.begin(), view.step_us.end());
  if (steps.size() > calm_steps_max)
    steps.erase(steps.begin(), steps.end() - ptrdiff_t(calm_steps_max));
  end_windows(view);
}

/// A change of weights is in force. A change in the direction of the last one
/// is a drift and worth following; one that reverses it may reverse again soon.
void balancer::note_speeds(const plan& changed) {
  speed_plans_.push_back(window_);
  std::map<worker_id, double> trend;
  auto parts = [](const plan& of) {
    std::map<worker_id, double> out;
    double total = 0;
    for (const share& one : of.shares)
      total += double(one.batch_weight);
    for (const share& one : of.shares)
      out[one.worker] = total > 0 ? double(one.batch_weight) / total : 0;
    return out;
  };
  double along = 0;
  if (plan_) {
    std::map<worker_id, double> before = parts(*plan_);
    for (auto [who, part] : parts(changed)) {
      trend[who] = part - before[who];
      along += trend[who] * trend_[who];
    }
  }
  if (along < 0)
    turns_.push_back(window_);
  trend_ = std::move(trend);
}

void balancer::new_plan(const plan& changed, bool same_round) {
  plan_ = changed;
  plan_window_ = window_;
  settled_at_.reset();
  moves_pause_ = coverage_pause_ = {};
  const label_counts before =
      std::exchange(held_, count_labels(*labels_, changed));
  bool same_sizes = before.workers == held_.workers;
  for (size_t rank = 0; same_sizes && rank < held_.workers; ++rank)
    same_sizes = before.of_worker(rank) == held_.of_worker(rank);
  if (!same_sizes)
    sizes_error_ = 0;
  if (!same_round || round_held_.workers != held_.workers) {
    round_held_ = held_;
    round_ = changed.number;
  }
  skews_ = skews(held_);
  const bool alone_before = !lone_.empty();
  lone_ = lone_classes(*labels_, changed);
  if (!alone_before)
    alone_since_ = window_;
  std::vector<uint64_t> of_class;
  for (size_t label = 0; label < held_.classes; ++label)
    of_class.push_back(held_.of_class(label));
  noise_floors_.clear();
  for (size_t rank = 0; rank < held_.workers; ++rank)
    noise_floors_.push_back(skew_by_chance(of_class, held_.of_worker(rank)));
  state_.skew_max =
      skews_.empty() ? 0 : *std::max_element(skews_.begin(), skews_.end());
  calm_us_.clear(); // another split has other step times
  std::set<worker_id> here;
  for (const share& one : changed.shares)
    here.insert(one.worker);
  std::erase_if(speeds_,
                [&](const auto& one) { return !here.contains(one.first); });
  const std::vector<uint64_t> takes = takes_of(changed);
  for (size_t rank = 0; rank < takes.size(); ++rank)
    speeds_[changed.shares[rank].worker].new_split(takes[rank]);
  links_.keep(here);
}

void balancer::end_windows(const load_view& view) {
  window_steps_ += view.step_us.size();
  if (window_begin_ms_ == 0)
    window_begin_ms_ = view.now_ms;
  if (view.now_ms < window_begin_ms_ + policy_.window_ms ||
      window_steps_ < policy_.window_steps)
    return;
  window_begin_ms_ = view.now_ms;
  window_steps_ = 0;
  state_.window = ++window_;
  for (auto& [who, speed] : speeds_)
    speed.end_window();
  for (std::vector<uint64_t>* some : {&speed_plans_, &turns_})
    std::erase_if(*some, [&](uint64_t when) {
      return when + policy_.unrest_windows < window_;
    });
  std::erase_if(moved_, [&](const auto& one) {
    return one.second + policy_.dwell_windows < window_;
  });
}

/// Additive increase, multiplicative decrease, driven by step times.
void balancer::adapt_rate() {
  bool comparable = calm_us_.size() >= compared_steps_min &&
                    moving_us_.size() >= compared_steps_min;
  if (comparable && double(median(moving_us_)) >
                        policy_.inflation_max * double(median(calm_us_)))
    rate_bytes_per_s_ =
        std::max(policy_.rate_min_bytes_per_s, rate_bytes_per_s_ / 2);
  else if (!proposed_.arrivals.empty())
    rate_bytes_per_s_ =
        std::min(policy_.rate_max_bytes_per_s,
                 rate_bytes_per_s_ + policy_.rate_more_bytes_per_s);
  moving_us_.clear();
}

} // namespace ballast
