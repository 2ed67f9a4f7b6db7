// The part of the balancer that reads a view.
#include "runtime/balance/balancer.hpp"

#include "runtime/balance/weighed.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ballast::balance {

balanced_set::balanced_set(std::shared_ptr<const ledger::manifest> set,
                           std::shared_ptr<const chunk_labels> known)
    : chunks(std::move(set)),
      labels(known ? std::move(known)
                   : std::make_shared<const chunk_labels>(*chunks)) {
  uint64_t bytes = 0;
  uint64_t rows = 0;
  for (const ledger::chunk_info& one : chunks->train) {
    bytes += one.bytes;
    chunk_bytes_max = std::max(chunk_bytes_max, one.bytes);
    chunk_rows_max = std::max(chunk_rows_max, one.rows);
    rows += one.rows;
  }
  row_bytes = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, rows));
}

balancer::balancer(balance_policy policy,
                   std::shared_ptr<const ledger::manifest> set,
                   std::shared_ptr<const chunk_labels> labels)
    : policy_(policy), set_(std::move(set), std::move(labels)),
      copying_(policy.rate_bytes_per_s) {}

void balancer::set_policy(const balance_policy& policy) {
  policy_ = policy;
  moves_pause_ = coverage_pause_ = {}; // for the old settings
  rest_ = {};
  state_.code = balance_code::undecided;
}

balance_answer balancer::observe(const load_view& view,
                                 search_effort::stop_asked stop) {
  balance_answer out;
  effort_ = search_effort(policy_.search_effort, std::move(stop));
  take_in(view);
  last_view_ = view;
  for (worker_load& one : last_view_.workers) {
    one.costs.clear();
    one.reads.clear();
  }
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
    for (const shard_move& one : out.proposal.moves) {
      proposed_.arrivals.push_back({one.what.chunk, now_.ranks.at(one.to)});
      for (const rows_ahead& to : out.proposal.receivers)
        if (to.to == one.to)
          proposed_.receivers[one.what.chunk] = to;
    }
  }
  out.state = state_;
  out.state.why = sentence(*this);
  if (now_.some())
    out.state.would_change = would_change(*this);
  return out;
}

void balancer::take_in(const load_view& view) {
  // One may have left since our plan took effect: then both are in this view.
  const bool only_our_plan =
      view.last == transfer_end::effective &&
      (!now_.some() || view.changed.generation == now_.of.generation);
  // Moves of our own plans lead to the same end and stay in the same round.
  const bool same_round = only_our_plan && !proposed_.by_speed && now_.some();
  if (view.last != transfer_end::none)
    end_transfer(view);
  if (!view.changed.shares.empty()) {
    if (!only_our_plan) {
      rest_ = {}; // a worker joined or left
      if (set_.chunks->whole_chunks)
        arrivals_.forget_given();
    }
    new_plan(view.changed, same_round);
  }
  for (const worker_load& worker : view.workers)
    speeds_.add(worker);
  copying_.add(view);
  end_windows(view);
}

void balancer::end_transfer(const load_view& view) {
  const bool whole_chunks = set_.chunks->whole_chunks;
  if (view.last == transfer_end::effective) {
    arrivals_.moved(proposed_.arrivals, window_);
    // Whole groups rarely lead exactly to what is asked for. Without this the
    // next search would try again, with the same rows.
    if (proposed_.by_speed && whole_chunks && now_.some() &&
        placed_ == now_.of.generation &&
        state_.makespan_ratio >= 1 + policy_.gain_min)
      arrivals_.forget_given(); // quite other sizes are asked for
    if (proposed_.to_measure || proposed_.for_holders || whole_chunks)
      arrivals_.given(proposed_.arrivals);
    else if (!proposed_.arrivals.empty())
      arrivals_.forget_given();
    if (!proposed_.arrivals.empty() && !proposed_.to_measure && now_.some())
      placed_ = now_.of.generation;
    if (proposed_.by_speed)
      speeds_.follow(now_.of, view.changed, window_);
    else
      rest_ = std::move(proposed_.rest);
    if (!proposed_.receivers.empty())
      arrivals_.planned(std::move(proposed_.receivers));
    failures_ = 0;
  } else if (view.last == transfer_end::failed &&
             ++failures_ >= policy_.failures_max) {
    stalled_until_ = window_ + policy_.stalled_windows;
    failures_ = 0;
  }
  copying_.end_transfer(!proposed_.arrivals.empty(), policy_);
  proposed_ = {};
}

void balancer::new_plan(const ledger::plan& changed, bool same_round) {
  const plan_view before = std::exchange(now_, view_of(changed, *set_.labels));
  plan_window_ = window_;
  moves_pause_ = coverage_pause_ = {};
  if (!same_sizes(before.held, now_.held))
    sizes_error_ = 0;
  if (!same_round || round_held_.workers != now_.held.workers) {
    round_held_ = now_.held;
    round_ = changed.number;
  }
  if (before.lone.empty())
    alone_since_ = window_;
  state_.skew_max = now_.skew_max();
  speeds_.new_plan(now_, policy_);
  if (before.ranks != now_.ranks)
    arrivals_.planned({}); // they are told by rank
  copying_.new_plan(now_.ranks);
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
  speeds_.end_window(window_, policy_);
  arrivals_.forget_before(window_ -
                          std::min<uint64_t>(window_, policy_.dwell_windows));
}

} // namespace ballast::balance
