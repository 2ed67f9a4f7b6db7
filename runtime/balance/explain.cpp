#include "runtime/balance/explain.hpp"

#include "runtime/balance/coverage.hpp"
#include "runtime/balance/fewest_moves.hpp"
#include "runtime/balance/moves_bound.hpp"
#include "runtime/balance/weighed.hpp"
#include "runtime/ledger/step_takes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace ballast::balance {

namespace {

using json = nlohmann::ordered_json;

/// Lists at most this many moves, and counts the rest.
constexpr size_t moves_listed_max = 200;
constexpr size_t classes_listed_max = 20;
/// Skew budgets whose cost is shown.
constexpr double frontier_budgets[] = {0, 0.02, 0.05, 0.1, 0.2, 0.4, 1};
/// Above this many cells the fast path computes the frontier.
constexpr size_t frontier_cells_max = 20'000;

double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

json side(const balancer& planner, const split_view& split,
          const label_counts& held, const ledger::plan& under,
          const std::vector<uint64_t>& takes) {
  std::vector<double> skewed = skews(held);
  json workers = json::object();
  double skew_max = 0;
  for (size_t rank = 0; rank < takes.size(); ++rank) {
    json one{{"batch", takes[rank]},
             {"rows", held.of_worker(rank)},
             {"skew_tv", rounded(skewed[rank])}};
    if (split.known)
      one["compute_ms"] = rounded(1e3 * split.costs[rank].seconds(takes[rank]));
    workers[worker_name(planner, rank)] = one;
    skew_max = std::max(skew_max, skewed[rank]);
  }
  json out{{"step_ms", nullptr},
           {"skew_tv_max", rounded(skew_max)},
           {"classes_held_alone",
            lone_classes(*planner.set().labels, under).size()}};
  if (split.known)
    out["step_ms"] = rounded(1e3 * makespan_s(split.costs, takes));
  out["workers"] = workers;
  return out;
}

json ahead_json(const rows_ahead& of, const std::string& worker) {
  json out{{"worker", worker},
           {"ahead", of.ahead},
           {"needs_bytes_per_s", std::round(of.need_bytes_per_s)},
           {"reads_bytes_per_s", std::round(of.rate_bytes_per_s)}};
  out["reason"] = sentence(of, worker);
  return out;
}

/// Classes with a single holder, of one worker or of all.
json list_lone(const balancer& planner, std::optional<size_t> rank) {
  json out = json::array();
  for (const lone_class& one : planner.now().lone) {
    if (out.size() == classes_listed_max)
      break;
    if (rank && *rank != one.rank)
      continue;
    out.push_back({{"class", one.label},
                   {"rows", planner.now().held.at(one.rank, one.label)}});
    if (!rank)
      out.back()["worker"] = worker_name(planner, one.rank);
  }
  return out;
}

/// How fast each source sent chunks to a worker; null without measurements.
json list_links(const balancer& planner, worker_id to) {
  auto number = [](std::optional<double> rate) {
    return rate ? json(std::round(*rate)) : json();
  };
  json from = json::object();
  for (auto [source, copies] : planner.copying().links().sources_of(to)) {
    std::string name = origin_name;
    for (const worker_load& one : planner.last_view().workers)
      if (one.worker == source)
        name = one.name;
    from[name] = {
        {"bytes_per_s", number(planner.copying().links().between(source, to))},
        {"copies", copies}};
  }
  return {{"bytes_per_s", number(planner.copying().links().into(to))},
          {"limit_bytes_per_s", planner.copying().bytes_per_s()},
          {"from", from}};
}

json list_moves(const balancer& planner, const move_list& list) {
  json out = json::array();
  for (const shard_move& one : list.moves) {
    if (out.size() == moves_listed_max)
      break;
    out.push_back({{"chunk", value(one.what.chunk)},
                   {"rows", rows(one.what)},
                   {"from", worker_name(planner, one.from)},
                   {"to", worker_name(planner, one.to)},
                   {"bytes", one.bytes},
                   {"nearer_by_rows", rounded(one.gain_rows)}});
  }
  return out;
}

/// A dry run on its way to its explanation: what balancing would do now, then
/// what other demands would cost.
class dry_run {
public:
  dry_run(const balancer& planner, search_effort::stop_asked stop)
      : planner_(planner), now_(planner.now().of), policy_(planner.policy()),
        split_(planner.split()),
        effort_(policy_.search_effort, std::move(stop)) {
    for (const ledger::share& one : now_.shares)
      weights_.push_back(one.batch_weight);
    by_speed_ = planner.speeds().judge(split_, planner.state().window, policy_);
    if (split_.known && split_.gain > split_.error)
      weights_ = split_.weights;
    sizes_ = planner.wanted_sizes(weights_);
    list_ = search();
    if (list_.moves.empty())
      list_.after = planner.now().held;
    reached_ = as_good_as(planner.now().held, list_.after, policy_.skew_tv);
  }

  json explained(bool certificate) {
    const moves_certificate proof =
        prove_moves_bound(reached_, proof_cells_max);
    const uint64_t bound = whole_rows(proof.bound_rows);
    json out{{"plan", value(now_.number)},
             {"generation", value(now_.generation)},
             {"window", planner_.state().window},
             {"code", to_string(planner_.state().code)},
             {"reason", sentence(planner_)}};
    out["before"] =
        side(planner_, split_, planner_.now().held, now_, split_.takes);
    out["after"] = side(planner_, split_, list_.after,
                        moved_plan(now_, list_.moves, next(now_.number), {}),
                        takes_by(weights_));
    out["moved_rows"] = list_.rows;
    out["moved_bytes"] = list_.bytes;
    out["bound_rows"] = bound;
    out["gap_rows"] = list_.rows - std::min(list_.rows, bound);
    if (certificate)
      out["certificate"] = certificate_json(reached_, proof);
    out["takes_s"] =
        rounded(planner_.copying().seconds(list_.moves, planner_.now().ranks));
    out["moves"] = list_moves(planner_, list_);
    out["moves_total"] = list_.moves.size();
    out["held_alone"] = list_lone(planner_, std::nullopt);
    weighed_plan weighed{
        list_.rows,
        bound,
        planner_.copying().seconds(list_.moves, planner_.now().ranks),
        sizes_,
        0,
        0,
        {}};
    out["frontier"] = frontier(weighed);
    if (effort_.cut_short())
      out["cut_short"] = "the set is too large for a complete search: a better "
                         "plan may exist, the bound holds for all";
    out["rejected"] = rejected(weighed);
    out["weighed"] = in_words(planner_, split_, weighed);
    return out;
  }

private:
  std::vector<uint64_t> takes_by(const std::vector<uint64_t>& weights) const {
    if (policy_.leaves > 0)
      return takes_of_leaves(ledger::split_leaves(policy_.leaves, weights),
                             policy_.global_batch, policy_.leaves);
    return whole_takes(policy_.global_batch, weights);
  }

  move_list search() {
    if (policy_.leaves > 0)
      return {};
    move_list list =
        fewest_moves({planner_.now().held, sizes_, policy_.skew_tv, 2},
                     {.set = planner_.set().chunks.get(),
                      .current = &now_,
                      .target = {},
                      .locked = {},
                      .bytes_max = 0,
                      .room_bytes = {},
                      .skew_max = policy_.skew_tv,
                      .size_tolerance = policy_.size_tolerance,
                      .labels = planner_.set().labels.get(),
                      .effort = &effort_})
            .list;
    if (!list.moves.empty()) // they give second holders, too
      return list;
    return choose_moves(
        {.set = planner_.set().chunks.get(),
         .current = &now_,
         .target =
             best_quota(coverage_request(planner_.now().held, policy_.skew_tv),
                        exact_cells_max, &effort_)
                 .target,
         .locked = {},
         .room_bytes = {},
         .cover = true,
         .labels = planner_.set().labels.get(),
         .effort = &effort_});
  }

  /// The demands at the sizes that were reached, which may miss what is
  /// requested by a tolerance: only so do their prices compare.
  quota_request demands(double skew_tv) const {
    return {planner_.now().held, reached_.sizes, skew_tv, 2};
  }

  json frontier(weighed_plan& weighed) const {
    json out = json::array();
    // The prices are no part of the search, which may have used up its own.
    search_effort effort(effort_.stopped() ? 0 : policy_.search_effort);
    for (double budget : frontier_budgets) {
      if (!effort.allows(fast_quota_effort(planner_.now().held)))
        break;
      const quota at = best_quota(demands(budget), frontier_cells_max, &effort);
      weighed.budgets.push_back({budget, at.bound});
      out.push_back({{"skew_tv", budget},
                     {"moved_rows", at.moved},
                     {"skew_tv_max", rounded(most_skew(at.target))}});
    }
    return out;
  }

  json rejected(weighed_plan& weighed) const {
    weighed.sizes_only_rows = moves_bound(demands(1));
    double fresh = 0;
    for (uint64_t size : sizes_)
      fresh +=
          double(size) *
          (1 - double(size) /
                   double(std::max<uint64_t>(1, planner_.now().held.total())));
    weighed.anew_rows = uint64_t(fresh);
    json out = json::array();
    out.push_back({{"what", "split the batch by speed"},
                   {"code", to_string(by_speed_)},
                   {"gain", rounded(split_.gain)},
                   {"gain_needed",
                    rounded(std::max(planner_.speeds().split_gain_min(policy_),
                                     policy_.gain_errors * split_.error))}});
    out.push_back({{"what", "sizes only, whatever the labels"},
                   {"code", "SKEW"},
                   {"moved_rows", weighed.sizes_only_rows}});
    out.push_back({{"what", "deal all rows anew"},
                   {"code", "COST"},
                   {"moved_rows", weighed.anew_rows}});
    return out;
  }

  const balancer& planner_;
  const ledger::plan& now_;
  const balance_policy& policy_;
  split_view split_;
  search_effort effort_;
  std::vector<uint64_t> weights_; // of the batch, as it would be
  std::vector<uint64_t> sizes_;   // wanted
  balance_code by_speed_{};       // what speaks against those weights
  move_list list_;
  quota_request reached_;
};

} // namespace

json explain_plan(const balancer& planner, bool certificate,
                  search_effort::stop_asked stop) {
  return dry_run(planner, std::move(stop)).explained(certificate);
}

json explain_worker(const balancer& planner, size_t rank) {
  const ledger::plan& now = planner.now().of;
  const ledger::share& mine = now.shares.at(rank);
  split_view split = planner.split();
  const speed_estimate* speed = planner.speeds().of(mine.worker);
  uint64_t chunks = 0;
  for (size_t i = 0; i < mine.intervals.size(); ++i)
    chunks += i == 0 || mine.intervals[i].chunk != mine.intervals[i - 1].chunk;
  json out{{"worker", worker_name(planner, rank)},
           {"rank", rank},
           {"plan", value(now.number)},
           {"batch", split.takes[rank]},
           {"batch_best", nullptr},
           {"rows", planner.now().held.of_worker(rank)},
           {"rows_left", planner.last_view().workers.at(rank).rows_left},
           {"chunks", chunks},
           {"cut_chunks", mine.intervals.size() - chunks},
           {"skew_tv", rounded(planner.now().skew[rank])},
           {"skew_noise_floor", rounded(planner.now().noise_floors[rank])}};
  if (split.known)
    out["batch_best"] = split.best.rows[rank];
  if (speed && speed->known())
    out["speed"] = {{"fixed_ms", rounded(1e3 * speed->cost().fixed_s)},
                    {"row_us", rounded(1e6 * speed->cost().per_row_s)},
                    {"error", rounded(speed->error())},
                    {"steady_windows", speed->steady_windows()}};
  const std::string& trouble =
      planner.last_view().workers.at(rank).device_trouble;
  out["waits_for_core"] =
      speed && speed->known() ? json(rounded(speed->waiting())) : json();
  out["device_trouble"] = trouble.empty() ? json() : json(trouble);
  out["copies"] = list_links(planner, mine.worker);
  const std::optional<double> reads = planner.copying().reads_of(mine.worker);
  out["reads_bytes_per_s"] = reads ? json(std::round(*reads)) : json();
  out["holds_alone"] = list_lone(planner, rank);
  // The classes that deviate most.
  std::vector<std::pair<double, size_t>> off;
  double mine_rows =
      double(std::max<uint64_t>(1, planner.now().held.of_worker(rank)));
  double all_rows = double(std::max<uint64_t>(1, planner.now().held.total()));
  for (size_t label = 0; label < planner.now().held.classes; ++label) {
    double part = double(planner.now().held.at(rank, label)) / mine_rows;
    double all = double(planner.now().held.of_class(label)) / all_rows;
    off.emplace_back(part - all, label);
  }
  std::sort(off.begin(), off.end(), [](const auto& a, const auto& b) {
    return std::abs(a.first) > std::abs(b.first);
  });
  if (planner.now().held.classes > 1) {
    json classes = json::array();
    for (size_t i = 0; i < std::min<size_t>(off.size(), 5); ++i)
      classes.push_back({{"class", off[i].second},
                         {"rows", planner.now().held.at(rank, off[i].second)},
                         {"share_over_global", rounded(off[i].first)}});
    out["classes"] = classes;
  }
  out["code"] = to_string(planner.state().code);
  out["reason"] = sentence(planner);
  out["would_change"] = would_change(planner);
  return out;
}

json explain_chunk(const balancer& planner, chunk_id id) {
  const ledger::chunk_info& about = planner.set().chunks->train.at(value(id));
  json owners = json::array();
  bool may_move = false;
  const ledger::plan& now = planner.now().of;
  for (size_t rank = 0; rank < now.shares.size(); ++rank)
    for (const ledger::interval& one : now.shares[rank].intervals)
      if (one.chunk == id) {
        owners.push_back({{"worker", worker_name(planner, rank)},
                          {"begin", one.begin},
                          {"end", one.end}});
        const arrival here{id, now.shares[rank].worker};
        may_move = may_move || !(planner.arrivals().has_moved(here) ||
                                 planner.arrivals().was_given(here));
      }
  json out{{"chunk", value(id)},
           {"rows", about.rows},
           {"bytes", about.bytes},
           {"owners", owners},
           {"classes", about.label_histogram}};
  const auto moved = planner.arrivals().last_move(id);
  out["windows_since_move"] =
      moved ? json(planner.state().window - *moved) : json();
  out["may_move"] = may_move;
  const rows_ahead* to = planner.arrivals().receiver_of(id);
  out["planned"] = to ? ahead_json(*to, worker_name(planner, to->to)) : json();
  return out;
}

} // namespace ballast::balance
