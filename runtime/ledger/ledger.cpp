#include "runtime/ledger/ledger.hpp"

#include "runtime/base/check.hpp"
#include "runtime/ledger/chunk_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ballast::ledger {

struct ledger::rules {
  std::shared_ptr<const ledger_config> config;
  plan current;
  uint64_t rows_total;
  uint64_t steps_per_epoch;
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

uint64_t row_count(const ledger_config& config) {
  return std::accumulate(config.chunk_rows.begin(), config.chunk_rows.end(),
                         uint64_t{0});
}

namespace {

uint64_t steps_for(uint64_t rows, uint64_t global_batch) {
  return rows / global_batch + (rows % global_batch ? 1 : 0);
}

uint64_t sum_of(const std::vector<uint32_t>& cursors) {
  return std::accumulate(cursors.begin(), cursors.end(), uint64_t{0});
}

/// Rows consumed by the first `steps` steps of an epoch.
uint64_t consumed_after(uint64_t steps, uint64_t global_batch, uint64_t rows) {
  return steps > rows / global_batch ? rows : steps * global_batch;
}

} // namespace

std::optional<std::string>
start_error(const ledger_config& config, const plan& first, position at,
            const std::vector<worker_cursor>& cursors) {
  if (config.global_batch == 0)
    return "the global batch is 0";
  uint64_t rows_total = row_count(config);
  if (rows_total == 0)
    return "the training set has no rows";
  if (auto error = partition_error(first, config.chunk_rows))
    return error;
  uint64_t steps = steps_for(rows_total, config.global_batch);
  if (value(at.step) == 0 || value(at.epoch) == 0 ||
      (value(at.step) - 1) / steps + 1 != value(at.epoch))
    return "step " + to_string(at.step) + " is not in epoch " +
           to_string(at.epoch) + ", which has " + std::to_string(steps) +
           " steps";
  uint64_t expected = consumed_after((value(at.step) - 1) % steps,
                                     config.global_batch, rows_total);
  if (!cursors.empty() && cursors.size() != first.shares.size())
    return std::to_string(cursors.size()) + " cursors for " +
           std::to_string(first.shares.size()) + " workers";
  uint64_t consumed = 0;
  for (size_t rank = 0; rank < cursors.size(); ++rank) {
    const share& part = first.shares[rank];
    const std::vector<uint32_t>& own = cursors[rank].cursors;
    std::string who = "worker " + to_string(part.worker);
    if (cursors[rank].worker != part.worker)
      return who + ": the cursors are those of worker " +
             to_string(cursors[rank].worker);
    if (own.size() != part.intervals.size())
      return who + ": " + std::to_string(own.size()) + " cursors for " +
             std::to_string(part.intervals.size()) + " intervals";
    uint64_t own_sum = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] > rows(part.intervals[i]))
        return who + ": cursor " + std::to_string(own[i]) + " of interval " +
               std::to_string(i) + " is past its end";
      own_sum += own[i];
    }
    if (cursors[rank].draws > own_sum)
      return who + ": " + std::to_string(cursors[rank].draws) +
             " draws, but only " + std::to_string(own_sum) + " rows consumed";
    consumed += own_sum;
  }
  if (consumed != expected)
    return "the cursors say that " + std::to_string(consumed) +
           " rows are consumed before step " + to_string(at.step) +
           ", but the steps of the epoch consumed " + std::to_string(expected);
  return std::nullopt;
}

ledger::ledger(ledger_config config, plan first, position at,
               std::vector<worker_cursor> cursors)
    : next_(at) {
  auto wrong = start_error(config, first, at, cursors);
  BALLAST_CHECK(!wrong, *wrong);
  uint64_t rows_total = row_count(config);
  uint64_t steps = steps_for(rows_total, config.global_batch);
  step_of_epoch_ = (value(at.step) - 1) % steps;
  rules_ = std::make_shared<const rules>(
      rules{std::make_shared<const ledger_config>(std::move(config)),
            std::move(first), rows_total, steps});
  size_t ranks = rules_->current.shares.size();
  rows_left_.resize(ranks);
  draws_.resize(ranks, 0);
  beginnings_.resize(ranks);
  followed_.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    const share& part = rules_->current.shares[rank];
    rows_left_[rank] = rows(part);
    if (cursors.empty())
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

void ledger::retake() {
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
  return followed(rank);
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
  after.rules_ = std::make_shared<const rules>(
      rules{rules_->config, p, rules_->rows_total, rules_->steps_per_epoch});
  after.retake();
  *this = std::move(after);
  return std::nullopt;
}

} // namespace ballast::ledger
