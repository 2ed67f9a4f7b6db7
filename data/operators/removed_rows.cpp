#include "data/operators/removed_rows.hpp"

#include "data/source/bad_rows.hpp"
#include "runtime/graph/removing_nodes.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

namespace ballast::data {

std::unique_ptr<removed_rows> removed_rows::of(const data_spec& data) {
  if (std::none_of(data.graph.begin(), data.graph.end(), graph::removes_rows))
    return nullptr;
  return std::make_unique<removed_rows>(data.on_error != error_policy::skip);
}

size_t removed_rows::node(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(),
                   [&](const auto& one) { return one.name == name; });
  if (found != nodes_.end())
    return size_t(found - nodes_.begin());
  nodes_.push_back({name, 0, {}});
  return nodes_.size() - 1;
}

row_indices removed_rows::count(size_t node, std::span<const uint64_t> origins,
                                const row_indices& rows) {
  row_indices wanted;
  const std::lock_guard lock(mutex_);
  counted_node& of = nodes_.at(node);
  uint64_t block_number = UINT64_MAX;
  block* seen = nullptr;
  for (const uint32_t row : rows) {
    const uint64_t origin = origins[row];
    if (origin >> block_bits != block_number) {
      block_number = origin >> block_bits;
      seen = &of.seen[block_number];
    }
    const uint64_t bit = origin & ((uint64_t{1} << block_bits) - 1);
    uint64_t& word = (*seen)[bit / 64];
    const uint64_t mask = uint64_t{1} << bit % 64;
    if ((word & mask) != 0)
      continue;
    word |= mask;
    ++of.rows;
    if (is_kept_ &&
        (!is_full() || place{node, origin} < std::prev(lines_.end())->first))
      wanted.push_back(row);
  }
  return wanted;
}

void removed_rows::keep(size_t node, uint64_t origin, std::string line) {
  const std::lock_guard lock(mutex_);
  bytes_ += line.size();
  lines_.emplace(place{node, origin}, std::move(line));
  while (true) {
    const auto last = std::prev(lines_.end());
    const size_t before = bytes_ - last->second.size();
    if (lines_.size() <= faults_kept_max && before < faults_bytes_max)
      return;
    bytes_ = before;
    lines_.erase(last);
  }
}

void removed_rows::read_up_to(size_t source, uint64_t rows) {
  const std::lock_guard lock(mutex_);
  if (read_.size() <= source)
    read_.resize(source + 1);
  read_[source] = std::max(read_[source], rows);
}

ledger::rejected_rows removed_rows::counts() const {
  const std::lock_guard lock(mutex_);
  ledger::rejected_rows out;
  out.read = std::accumulate(read_.begin(), read_.end(), uint64_t{0});
  out.kept = lines_.size();
  for (const counted_node& one : nodes_)
    out.removed[one.name] = one.rows;
  return out;
}

std::string removed_rows::lines() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [place, line] : lines_)
    out += line;
  return out;
}

void will_remove(const operator_context& context) {
  if (context.removed != nullptr)
    context.removed->node(context.name);
}

namespace {

/// `about(row)`: the column and the reason.
template <class About>
void tell(const operator_context& context, const arrow::RecordBatch& rows,
          int origin, const row_indices& which, About about) {
  if (context.removed == nullptr || context.origins == nullptr || which.empty())
    return;
  removed_rows& to = *context.removed;
  const size_t node = to.node(context.name);
  const std::span<const uint64_t> origins = numbers_in(rows, origin);
  for (const uint32_t row : to.count(node, origins, which)) {
    const row_origins::found from = context.origins->find(origins[row]);
    row_fault what;
    what.source = from.source;
    what.file = from.file;
    what.row = from.row;
    std::tie(what.column, what.reason) = about(row);
    what.step = context.name;
    what.values = values_of(rows, row);
    to.keep(node, origins[row], quarantine_line(what));
  }
}

} // namespace

void tell_removed(const operator_context& context,
                  const arrow::RecordBatch& rows, int origin,
                  const std::vector<bad_row>& which) {
  row_indices all;
  for (const bad_row& one : which)
    all.push_back(uint32_t(one.row));
  tell(context, rows, origin, all,
       [&, at = which.begin()](uint32_t row) mutable {
         at = std::find_if(at, which.end(), [row](const bad_row& one) {
           return one.row == int64_t(row);
         });
         return std::pair(at->column, at->reason);
       });
}

void tell_removed(const operator_context& context,
                  const arrow::RecordBatch& rows, int origin,
                  const row_indices& which, const std::string& reason) {
  tell(context, rows, origin, which,
       [&](uint32_t /*row*/) { return std::pair(std::string(), reason); });
}

ledger::rejected_rows left_out_counts(const row_faults* faults,
                                      const removed_rows* removed) {
  ledger::rejected_rows out;
  if (removed != nullptr)
    out = removed->counts();
  if (faults == nullptr)
    return out;
  const ledger::rejected_rows bad = faults->counts();
  out.read = std::max(out.read, bad.read);
  out.rows = bad.rows;
  out.kept += bad.kept;
  return out;
}

std::string left_out_lines(const row_faults* faults,
                           const removed_rows* removed) {
  return (faults != nullptr ? faults->found().lines : std::string()) +
         (removed != nullptr ? removed->lines() : std::string());
}

} // namespace ballast::data
