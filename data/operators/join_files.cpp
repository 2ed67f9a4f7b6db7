#include "data/operators/join_files.hpp"

#include <arrow/api.h>

#include <utility>

namespace ballast::data {

namespace {

/// A part that still has so much of what it was split from has one key, most
/// likely: splitting it once more would only copy it.
bool is_much(int64_t rows, int64_t of) {
  return rows > of / 4 * 3;
}

} // namespace

join_files::join_files(join_kind kind, std::vector<joined_column> columns,
                       const std::shared_ptr<arrow::Schema>& schema,
                       join_side left, join_side right,
                       const operator_context& context)
    : kind_(kind), context_(context), memory_(memory_of(context)),
      left_(std::move(left)), right_(std::move(right)) {
  // Numbered like the origin: of the left row, or of the right row alone.
  columns.push_back({left_.schema->num_fields(), right_.schema->num_fields(),
                     arrow::uint64()});
  const int number = schema->num_fields();
  left_.schema = with_numbers(left_.schema, "");
  right_.schema = with_numbers(right_.schema, "");
  const std::shared_ptr<arrow::Schema> numbered = with_numbers(schema, "");
  output_.emplace(std::move(columns), numbered, context_);
  const row_ordering ordering{{{number, key_use::ascending}}};
  by_left_.emplace(numbered, ordering, context_, memory_);
  by_right_.emplace(numbered, ordering, context_, memory_);
  right_parts_.emplace(right_.schema, context_, memory_ / 4);
}

void join_files::share(row_partitions& among, const batch& rows,
                       const join_keys& keys, int depth) const {
  const equal_keys of(keys.of(*rows));
  std::vector<uint8_t> part(of.rows());
  for (uint32_t row = 0; row < of.rows(); ++row)
    part[row] =
        uint8_t(of.hash(row) >> depth * partition_bits & (partitions - 1));
  among.add(rows, part);
}

namespace {

std::shared_ptr<arrow::RecordBatch>
numbered(const std::shared_ptr<arrow::RecordBatch>& rows,
         const std::shared_ptr<arrow::Schema>& schema, uint64_t& position) {
  std::vector<uint64_t> numbers(size_t(rows->num_rows()));
  for (uint64_t& one : numbers)
    one = position++;
  return with_numbers(rows, schema, std::move(numbers));
}

} // namespace

void join_files::add_right(const batch& rows) {
  share(*right_parts_, numbered(rows, right_.schema, right_position_),
        right_.keys, 0);
}

void join_files::add_left(const batch& rows) {
  if (!left_parts_)
    left_parts_.emplace(left_.schema, context_, memory_ / 4);
  share(*left_parts_, numbered(rows, left_.schema, left_position_), left_.keys,
        0);
}

void join_files::join() {
  parts right = right_parts_->finish();
  right_parts_.reset();
  parts left(partitions);
  if (left_parts_)
    left = left_parts_->finish();
  left_parts_.reset();
  join_parts(std::move(left), std::move(right), 1, int64_t(right_position_));
}

std::shared_ptr<arrow::RecordBatch> join_files::next() {
  if (by_left_) {
    if (batch rows = by_left_->next())
      return rows;
    by_left_.reset();
  }
  return by_right_->next();
}

void join_files::join_parts(parts left, parts right, int depth,
                            int64_t before) {
  for (uint32_t i = 0; i < partitions; ++i)
    if (left[i] || right[i])
      join_pair({std::exchange(left[i], std::nullopt),
                 std::exchange(right[i], std::nullopt), depth, before});
}

join_table join_files::new_table() const {
  return {right_.schema, right_.keys, context_, memory_ / 4 * 3};
}

void join_files::join_pair(pair both) {
  const bool may_split = both.depth <= partition_depth_max && both.right &&
                         !is_much(both.right->rows, both.before);
  if (both.right)
    both.before = both.right->rows;
  join_table table = new_table();
  std::optional<spill_reader> right;
  if (both.right) {
    right.emplace(context_, *std::exchange(both.right, std::nullopt));
    while (const batch rows = right->next()) {
      if (table.add(rows))
        continue;
      return may_split ? split(both, table, rows, right)
                       : join_blocks(both, std::move(table), rows, *right);
    }
  }
  table.finish();
  if (both.left) {
    spill_reader left(context_, *std::exchange(both.left, std::nullopt));
    pass_left(left, table, nullptr);
  } else if (keeps_right(kind_)) {
    std::optional<spill_writer> alone;
    add_right_alone(table.rows(), seen_rows(size_t(table.rows()->num_rows())),
                    alone);
    if (alone)
      by_right_->add(alone->finish());
  }
}

void join_files::split(pair& both, join_table& table, batch next,
                       std::optional<spill_reader>& right) {
  row_partitions right_parts(right_.schema, context_, memory_ / 4);
  for (batch& one : table.take())
    share(right_parts, std::exchange(one, nullptr), right_.keys, both.depth);
  for (; next != nullptr; next = right->next())
    share(right_parts, next, right_.keys, both.depth);
  right.reset(); // and its file
  parts shared_right = right_parts.finish();
  parts shared_left(partitions);
  if (both.left) {
    row_partitions left_parts(left_.schema, context_, memory_ / 4);
    spill_reader left(context_, *std::exchange(both.left, std::nullopt));
    while (const batch rows = left.next())
      share(left_parts, rows, left_.keys, both.depth);
    shared_left = left_parts.finish();
  }
  join_parts(std::move(shared_left), std::move(shared_right), both.depth + 1,
             both.before);
}

void join_files::join_blocks(pair& both, join_table table, batch next,
                             spill_reader& right) {
  std::optional<spill_reader> left;
  seen_rows left_seen;
  if (both.left) {
    left_seen.resize(size_t(both.left->rows));
    left.emplace(context_, *std::exchange(both.left, std::nullopt));
  }
  std::optional<join_table> block(std::move(table));
  while (block) {
    block->finish();
    if (left) {
      pass_left(*left, *block, &left_seen);
      left->rewind();
    } else if (keeps_right(kind_)) {
      std::optional<spill_writer> alone;
      const batch& rows = block->rows();
      add_right_alone(rows, seen_rows(size_t(rows->num_rows())), alone);
      if (alone)
        by_right_->add(alone->finish());
    }
    block.reset();
    if (next == nullptr)
      break;
    block.emplace(new_table());
    while (next != nullptr && block->add(next))
      next = right.next();
  }
  if (left)
    end_left(*left, left_seen);
}

void join_files::pass_left(spill_reader& left, join_table& table,
                           seen_rows* left_seen) {
  seen_rows right_seen(keeps_right(kind_) ? size_t(table.rows()->num_rows())
                                          : 0);
  const bool at_once = left_seen == nullptr;
  join_probe probe(*output_, table, keeps_left(kind_) && at_once,
                   keeps_right(kind_) ? &right_seen : nullptr);
  std::optional<spill_writer> out;
  size_t before = 0;
  while (const batch some = left.next())
    for (int64_t first = 0; first < some->num_rows(); first += rows_at_once) {
      const batch rows = some->Slice(first, rows_at_once);
      probe.begin(rows, left_.keys);
      const key_table::numbers& found = probe.found();
      row_indices kept;
      for (uint32_t row = 0; row < found.size(); ++row) {
        const bool is = found[row] != key_table::absent;
        if (!at_once && is)
          (*left_seen)[before + row] = true;
        if (at_once && only_left(kind_) && is == (kind_ == join_kind::semi))
          kept.push_back(row);
      }
      before += found.size();
      if (!kept.empty())
        write(out, output_->left_alone(*rows, kept));
      if (!only_left(kind_))
        while (const batch pairs = probe.next())
          write(out, pairs);
    }
  if (out)
    by_left_->add(out->finish());
  if (!keeps_right(kind_))
    return;
  std::optional<spill_writer> alone;
  add_right_alone(table.rows(), right_seen, alone);
  if (alone)
    by_right_->add(alone->finish());
}

void join_files::end_left(spill_reader& left, const seen_rows& left_seen) {
  if (!keeps_left(kind_) && !only_left(kind_))
    return;
  std::optional<spill_writer> out;
  size_t before = 0;
  while (const batch rows = left.next()) {
    row_indices kept;
    for (uint32_t row = 0; row < rows->num_rows(); ++row)
      if (left_seen[before + row] == (kind_ == join_kind::semi))
        kept.push_back(row);
    before += size_t(rows->num_rows());
    if (!kept.empty())
      write(out, output_->left_alone(*rows, kept));
  }
  if (out)
    by_left_->add(out->finish());
}

void join_files::add_right_alone(const batch& rows, const seen_rows& seen,
                                 std::optional<spill_writer>& to) const {
  row_indices alone;
  for (uint32_t row = 0; row < seen.size(); ++row)
    if (!seen[row])
      alone.push_back(row);
  const row_meter meter(*rows);
  std::span<const uint32_t> left(alone);
  while (!left.empty()) {
    const size_t count =
        meter.that_fit(left, rows_at_once, by_right_->block_bytes());
    write(to, output_->right_alone(*rows, left.first(count)));
    left = left.subspan(count);
  }
}

void join_files::write(std::optional<spill_writer>& to,
                       const batch& rows) const {
  if (!to)
    to.emplace(context_, output_->schema());
  write_blocks(*to, rows, by_left_->block_bytes());
}

} // namespace ballast::data
