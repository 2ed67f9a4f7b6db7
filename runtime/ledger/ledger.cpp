#include "runtime/ledger/ledger.hpp"

#include "runtime/base/check.hpp"
#include "runtime/ledger/chunk_order.hpp"
#include "runtime/ledger/position_rules.hpp"
#include "runtime/ledger/step_takes.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ballast::ledger {

struct ledger::rules {
  std::shared_ptr<const ledger_config> config;
  plan current;
  uint64_t rows_total;
  uint64_t steps_per_epoch;
  std::vector<leaf_ranges> parts; // by rank; order global
};

/// An interval of the ending plan, and how many of its rows are consumed.
struct ledger::consumed_interval {
  interval where;
  uint32_t consumed; // absolute: rows [where.begin, consumed) are consumed
};

/// Where the intervals of all shares are, ordered by chunk and begin.
struct ledger::chunk_list {
  struct place {
    uint32_t rank = 0;
    uint32_t index = 0; // in its share
  };
  std::vector<place> all;
  std::vector<uint32_t> first; // by chunk, and the end
};

/// What a plan takes from its owners, in order.
struct ledger::handed_out {
  std::vector<consumed_interval> all;
  std::vector<uint32_t> first; // by chunk, and the end
};

namespace {

uint64_t sum_of(const std::vector<uint32_t>& cursors) {
  return std::accumulate(cursors.begin(), cursors.end(), uint64_t{0});
}

} // namespace

std::shared_ptr<const ledger::rules>
ledger::rules_of(std::shared_ptr<const ledger_config> config, plan in_force,
                 uint64_t rows_total) {
  rules out{std::move(config), std::move(in_force), rows_total, 0, {}};
  out.steps_per_epoch = steps_for(rows_total, out.config->global_batch);
  if (out.config->leaves > 0)
    for (leaf_range one : leaves_under(out.current, out.config->leaves))
      out.parts.push_back({one});
  return std::make_shared<const rules>(std::move(out));
}

ledger::ledger(ledger_config config, plan first, position at,
               std::vector<worker_cursor> cursors)
    : next_(at) {
  auto wrong = start_error(config, first, at, cursors);
  BALLAST_CHECK(!wrong, *wrong);
  const uint64_t rows_total = row_count(config);
  rules_ = rules_of(std::make_shared<const ledger_config>(std::move(config)),
                    std::move(first), rows_total);
  step_of_epoch_ = (value(at.step) - 1) % rules_->steps_per_epoch;
  size_t ranks = rules_->current.shares.size();
  rows_left_.resize(ranks);
  draws_.resize(ranks, 0);
  beginnings_.resize(ranks);
  followed_.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    const share& part = rules_->current.shares[rank];
    rows_left_[rank] = rows(part);
    if (cursors.empty() || is_global())
      continue;
    worker_cursor& from = cursors[rank];
    draws_[rank] = from.draws;
    rows_left_[rank] -= sum_of(from.cursors);
    beginnings_[rank] = {
        from.draws,
        std::make_shared<const std::vector<uint32_t>>(std::move(from.cursors))};
  }
  retake();
}

bool ledger::is_global() const {
  return rules_->config->leaves > 0;
}

/// Of order global: its first position in the epoch.
uint64_t ledger::step_begin() const {
  return consumed_after(step_of_epoch_, rules_->config->global_batch,
                        rules_->rows_total);
}

void ledger::retake() {
  if (is_global()) {
    const ledger_config& config = *rules_->config;
    rows_left_sum_ = rules_->rows_total - step_begin();
    rows_left_ = takes_of_leaves(rules_->parts, rows_left_sum_, config.leaves);
    takes_ = takes_of_leaves(
        leaves(), std::min(config.global_batch, rows_left_sum_), config.leaves);
    return;
  }
  std::vector<take_input> in(rows_left_.size());
  rows_left_sum_ = 0;
  for (size_t rank = 0; rank < in.size(); ++rank) {
    in[rank] = {rules_->current.shares[rank].batch_weight, rows_left_[rank]};
    rows_left_sum_ += rows_left_[rank];
  }
  takes_ =
      split_batch(std::min(rules_->config->global_batch, rows_left_sum_), in);
}

position ledger::next() const {
  return next_;
}
const plan& ledger::current() const {
  return rules_->current;
}
const std::vector<uint64_t>& ledger::takes() const {
  return takes_;
}
std::vector<step_part> ledger::parts_of(size_t rank) const {
  if (!is_global())
    return {{draws_.at(rank), takes_.at(rank)}};
  const ledger_config& config = *rules_->config;
  std::vector<step_part> out;
  for (leaf_range one : leaves().at(rank)) {
    const step_rows own = rows_of(
        one, std::min(config.global_batch, rows_left_sum_), config.leaves);
    out.push_back({step_begin() + own.begin, own.end - own.begin});
  }
  return out;
}
const std::vector<leaf_ranges>& ledger::leaves() const {
  const kept_leaves& kept = rules_->current.kept;
  return is_global() && kept.step == next_.step ? kept.by_rank : rules_->parts;
}
uint64_t ledger::rows_left(size_t rank) const {
  return rows_left_.at(rank);
}

bool ledger::last_of_epoch() const {
  return rows_left_sum_ <= rules_->config->global_batch;
}

uint64_t ledger::steps_per_epoch() const {
  return rules_->steps_per_epoch;
}

void ledger::advance() {
  bool epoch_ends = last_of_epoch();
  next_.step = ballast::next(next_.step);
  if (epoch_ends) {
    next_.epoch = ballast::next(next_.epoch);
    step_of_epoch_ = 0;
    order_ = nullptr;
    for (size_t rank = 0; rank < rows_left_.size(); ++rank) {
      rows_left_[rank] = rows(rules_->current.shares[rank]);
      draws_[rank] = 0;
      beginnings_[rank] = {};
      followed_[rank] = nullptr;
    }
  } else {
    ++step_of_epoch_;
    for (size_t rank = 0; rank < takes_.size(); ++rank) {
      rows_left_[rank] -= takes_[rank];
      draws_[rank] += takes_[rank];
    }
  }
  retake();
}

const sequence& ledger::followed(size_t rank) const {
  const share& part = rules_->current.shares.at(rank);
  std::shared_ptr<const sequence>& kept = followed_[rank];
  if (kept && kept->draws() == draws_[rank])
    return *kept;
  const beginning& from = beginnings_[rank];
  sequence moved =
      kept ? *kept
           : sequence(rules_->config->seed, next_.epoch, part,
                      rules_->config->chunk_rows,
                      from.cursors
                          ? *from.cursors
                          : std::vector<uint32_t>(part.intervals.size(), 0),
                      from.draws, rules_->config->window_chunks,
                      rules_->config->uses);
  moved.skip(draws_[rank] - moved.draws());
  kept = std::make_shared<const sequence>(std::move(moved));
  return *kept;
}

const std::vector<uint32_t>* ledger::cursors_at(size_t rank) const {
  if (draws_[rank] == beginnings_[rank].draws)
    return beginnings_[rank].cursors.get();
  return &followed(rank).cursors();
}

worker_cursor ledger::cursor_of(size_t rank) const {
  const share& part = rules_->current.shares.at(rank);
  if (is_global())
    return {part.worker,
            0,
            {},
            position_digest(*rules_->config, next_.epoch, step_of_epoch_)};
  const std::vector<uint32_t>* cursors = cursors_at(rank);
  worker_cursor out{part.worker, draws_[rank], {}, 0};
  if (cursors)
    out.cursors = *cursors;
  else
    out.cursors.resize(part.intervals.size());
  out.digest = cursor_digest(next_.epoch, out.draws, out.cursors);
  return out;
}

sequence ledger::sequence_of(size_t rank) const {
  BALLAST_CHECK(!is_global(), "of order global nobody has its own sequence");
  return followed(rank);
}

row_order ledger::order_of(size_t rank) const {
  if (!is_global())
    return row_order(followed(rank));
  const ledger_config& config = *rules_->config;
  if (!order_)
    order_ = std::make_shared<const global_order>(
        config.seed, next_.epoch, config.chunk_rows, config.window_chunks,
        config.uses);
  const std::vector<step_part> own = parts_of(rank);
  return {order_, own.empty() ? step_begin() : own.front().first,
          rules_->current.shares.at(rank)};
}

std::vector<chunk_id> ledger::turns_of(size_t rank, epoch_number epoch) const {
  const ledger_config& config = *rules_->config;
  std::vector<chunk_id> out;
  if (config.window_chunks == 0)
    return out;
  if (is_global())
    return chunk_turns(config.seed, epoch, config.chunk_rows.size(),
                       config.window_chunks);
  const share& own = rules_->current.shares.at(rank);
  for (uint32_t i : epoch_order(config.seed, epoch, own))
    out.push_back(own.intervals[i].chunk);
  return out;
}

/// How many leading rows of `piece` are consumed, or nothing if its consumed
/// rows are not a prefix because parts with different cursors were joined.
/// Precondition: `old` covers the piece.
std::optional<uint32_t> ledger::cursor_in(const interval& piece,
                                          const handed_out& old) {
  const auto begin = old.all.begin() + old.first[value(piece.chunk)];
  const auto end = old.all.begin() + old.first[value(piece.chunk) + 1];
  if (begin != end && begin->where == piece) // most keep their bounds
    return begin->consumed - piece.begin;
  auto part = std::upper_bound(begin, end, piece.begin,
                               [](uint32_t at, const consumed_interval& b) {
                                 return at < b.where.begin;
                               });
  BALLAST_CHECK(part != begin, "a plan hands out what another took");
  --part; // the interval that contains piece.begin
  uint32_t reached = piece.begin;
  for (; part != end && part->where.begin < piece.end; ++part) {
    uint32_t from = std::max(part->where.begin, piece.begin);
    uint32_t to =
        std::clamp(part->consumed, from, std::min(part->where.end, piece.end));
    if (to == from)
      continue;
    if (from != reached)
      return std::nullopt;
    reached = to;
  }
  return reached - piece.begin;
}

const ledger::chunk_list& ledger::by_chunk() const {
  if (by_chunk_)
    return *by_chunk_;
  const std::vector<share>& shares = rules_->current.shares;
  auto made = std::make_shared<chunk_list>();
  for (uint32_t rank = 0; rank < shares.size(); ++rank)
    for (uint32_t i = 0; i < shares[rank].intervals.size(); ++i)
      made->all.push_back({rank, i});
  made->first = order_by_chunk(made->all, rules_->config->chunk_rows.size(),
                               [&](const chunk_list::place& one) {
                                 return shares[one.rank].intervals[one.index];
                               });
  by_chunk_ = std::move(made);
  return *by_chunk_;
}

void ledger::prepare_switch(uint64_t behind_max) const {
  if (is_global())
    return;
  (void)by_chunk();
  for (size_t rank = 0; rank < draws_.size(); ++rank)
    if (!followed_[rank] ||
        draws_[rank] - followed_[rank]->draws() > behind_max)
      (void)followed(rank);
}

ledger::handed_out ledger::hand_out(std::map<worker_id, size_t>& kept) const {
  struct owner {
    const std::vector<interval>* intervals = nullptr; // null: it keeps them
    const uint32_t* cursors = nullptr;                // null: all are 0
  };
  std::vector<owner> owners;
  for (const share& one : rules_->current.shares) {
    const size_t rank = owners.size();
    if (auto found = kept.find(one.worker); found != kept.end()) {
      found->second = rank;
      owners.emplace_back();
      continue;
    }
    const std::vector<uint32_t>* cursors = cursors_at(rank);
    owners.push_back(
        {&one.intervals.list(), cursors ? cursors->data() : nullptr});
  }
  const chunk_list& places = by_chunk();
  const size_t chunks = rules_->config->chunk_rows.size();
  handed_out out;
  out.all.reserve(places.all.size());
  out.first.reserve(chunks + 1);
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    out.first.push_back(uint32_t(out.all.size()));
    for (uint32_t k = places.first[chunk]; k < places.first[chunk + 1]; ++k) {
      const chunk_list::place& at = places.all[k];
      const owner& of = owners[at.rank];
      if (!of.intervals)
        continue;
      const interval& piece = (*of.intervals)[at.index];
      out.all.push_back(
          {piece, piece.begin + (of.cursors ? of.cursors[at.index] : 0)});
    }
  }
  out.first.push_back(uint32_t(out.all.size()));
  return out;
}

std::optional<std::string> ledger::switch_to(const plan& p) {
  const ledger_config& config = *rules_->config;
  if (auto error = succession_error(rules_->current, p, config.chunk_rows))
    return error;
  if (auto error = kept_error(p, config.leaves))
    return error;
  if (is_global()) {
    const size_t ranks = p.shares.size();
    rules_ = rules_of(rules_->config, p, rules_->rows_total);
    draws_.assign(ranks, 0);
    beginnings_.assign(ranks, {});
    followed_.assign(ranks, nullptr);
    by_chunk_.reset();
    retake();
    return std::nullopt;
  }

  // A share that the plan leaves alone keeps its sequence. For the others the
  // draws are followed up to here, and their intervals are assigned anew.
  std::map<worker_id, size_t> kept; // worker -> rank before
  for (const share& part : p.shares)
    if (part.since != p.number)
      kept[part.worker] = 0;
  const handed_out old = hand_out(kept);

  ledger after = *this;
  size_t ranks = p.shares.size();
  after.rows_left_.assign(ranks, 0);
  after.draws_.assign(ranks, 0);
  after.beginnings_.assign(ranks, {});
  after.followed_.assign(ranks, nullptr);
  after.by_chunk_.reset();
  uint64_t left = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const share& part = p.shares[rank];
    if (part.since != p.number) {
      size_t from = kept[part.worker];
      after.rows_left_[rank] = rows_left_[from];
      after.draws_[rank] = draws_[from];
      after.beginnings_[rank] = beginnings_[from];
      after.followed_[rank] = followed_[from];
    } else {
      std::vector<uint32_t> cursors;
      cursors.reserve(part.intervals.size());
      for (const interval& piece : part.intervals) {
        auto cursor = cursor_in(piece, old);
        if (!cursor)
          return "worker " + to_string(part.worker) + " gets [" +
                 std::to_string(piece.begin) + ", " +
                 std::to_string(piece.end) + ") of chunk " +
                 to_string(piece.chunk) +
                 ", joined of parts that are consumed differently; only a "
                 "plan at the start of an epoch may join parts";
        cursors.push_back(*cursor);
      }
      after.rows_left_[rank] = rows(part) - sum_of(cursors);
      after.beginnings_[rank] = {
          0, std::make_shared<const std::vector<uint32_t>>(std::move(cursors))};
    }
    left += after.rows_left_[rank];
  }
  if (left != rows_left_sum_)
    return "under plan " + to_string(p.number) + " " + std::to_string(left) +
           " rows would be left of the epoch, there are " +
           std::to_string(rows_left_sum_);
  after.rules_ = rules_of(rules_->config, p, rules_->rows_total);
  after.retake();
  *this = std::move(after);
  return std::nullopt;
}

} // namespace ballast::ledger
