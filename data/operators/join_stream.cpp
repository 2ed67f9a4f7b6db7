#include "data/operators/join_stream.hpp"

#include "data/operators/join_files.hpp"
#include "data/operators/join_output.hpp"
#include "data/operators/join_shape.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

/// The number of a column among those that are read, which it joins if need be.
int place_of_column(std::vector<int>& read, int column) {
  const auto found = std::find(read.begin(), read.end(), column);
  const int place = int(found - read.begin());
  if (found == read.end())
    read.push_back(column);
  return place;
}

class join_stream : public operator_stream {
public:
  join_stream(std::unique_ptr<record_stream> left,
              std::unique_ptr<record_stream> right, const join_terms& terms,
              operator_context context)
      : operator_stream(std::move(context)),
        left_(std::move(left), operator_stream::context()),
        right_(std::move(right), operator_stream::context()), kind_(terms.kind),
        shape_(left_, right_, terms, operator_stream::context()) {
    set_schema(shape_.schema());
  }

private:
  using batch = std::shared_ptr<arrow::RecordBatch>;

  void begin(const std::vector<int>& columns) override {
    std::vector<int> left_read;
    std::vector<int> right_read;
    std::vector<joined_column> out;
    arrow::FieldVector fields;
    for (int one : columns) {
      joined_column column = shape_.columns()[size_t(one)];
      if (column.left >= 0)
        column.left = place_of_column(left_read, column.left);
      if (column.right >= 0)
        column.right = place_of_column(right_read, column.right);
      out.push_back(std::move(column));
      fields.push_back(shape_.schema()->field(one));
    }
    left_keys_ = shape_.left_keys();
    right_keys_ = shape_.right_keys();
    for (int& key : left_keys_.columns)
      key = place_of_column(left_read, key);
    for (int& key : right_keys_.columns)
      key = place_of_column(right_read, key);
    left_.choose(left_read);
    right_.choose(right_read);
    columns_ = out;
    output_.emplace(std::move(out), arrow::schema(std::move(fields)),
                    context());
  }

  batch produce() override {
    if (!std::exchange(read_, true))
      read_right();
    return files_ ? files_->next() : next_in_memory();
  }

  void read_right() {
    table_.emplace(right_.chosen(), right_keys_, context(),
                   memory_of(context()) / 4 * 3);
    while (const batch rows = next_right()) {
      if (table_->add(rows))
        continue;
      files_.emplace(kind_, columns_, output_->schema(),
                     join_side{left_.chosen(), left_keys_},
                     join_side{right_.chosen(), right_keys_}, context());
      for (batch& one : table_->take())
        files_->add_right(std::exchange(one, nullptr));
      files_->add_right(rows);
      table_.reset();
      while (const batch more = next_right())
        files_->add_right(more);
      while (const batch more = left_.next())
        files_->add_left(keeps_left(kind_) || kind_ == join_kind::anti
                             ? more
                             : left_keys_.not_null(more, context()));
      files_->join();
      return;
    }
    table_->finish();
    if (keeps_right(kind_))
      right_seen_.resize(size_t(table_->rows()->num_rows()));
    probe_.emplace(*output_, *table_, keeps_left(kind_),
                   keeps_right(kind_) ? &right_seen_ : nullptr);
  }

  /// Without rows that nothing equals, unless they are in the result.
  batch next_right() {
    const batch rows = right_.next();
    return rows == nullptr || keeps_right(kind_)
               ? rows
               : right_keys_.not_null(rows, context());
  }

  batch next_in_memory() {
    for (;;) {
      if (left_rows_ != nullptr && !only_left(kind_))
        if (batch out = probe_->next())
          return out;
      left_rows_ = left_.next();
      if (left_rows_ == nullptr)
        return right_alone();
      probe_->begin(left_rows_, left_keys_);
      if (only_left(kind_))
        if (batch out = some_of_left())
          return out;
    }
  }

  batch some_of_left() const {
    row_indices rows;
    const key_table::numbers& found = probe_->found();
    for (uint32_t row = 0; row < found.size(); ++row)
      if ((found[row] != key_table::absent) == (kind_ == join_kind::semi))
        rows.push_back(row);
    return rows.empty() ? nullptr : output_->left_alone(*left_rows_, rows);
  }

  batch right_alone() {
    row_indices rows;
    for (; right_at_ < right_seen_.size() && rows.size() < size_t(rows_at_once);
         ++right_at_)
      if (!right_seen_[right_at_])
        rows.push_back(uint32_t(right_at_));
    if (rows.empty())
      return nullptr;
    const size_t fit =
        row_meter(*table_->rows()).that_fit(rows, rows_at_once, bytes_at_once);
    if (fit < rows.size()) {
      right_at_ = rows[fit];
      rows.resize(fit);
    }
    return output_->right_alone(*table_->rows(), rows);
  }

  operator_input left_;
  operator_input right_;
  const join_kind kind_;
  const join_shape shape_;
  // Of the columns that are read.
  join_keys left_keys_;
  join_keys right_keys_;
  std::vector<joined_column> columns_;
  std::optional<join_output> output_;

  bool read_ = false;
  std::optional<join_table> table_;
  std::optional<join_probe> probe_;
  std::shared_ptr<arrow::RecordBatch> left_rows_;
  seen_rows right_seen_;
  size_t right_at_ = 0;
  std::optional<join_files> files_;
};

} // namespace

std::unique_ptr<record_stream> join_rows(std::unique_ptr<record_stream> left,
                                         std::unique_ptr<record_stream> right,
                                         join_terms terms,
                                         operator_context context) {
  return std::make_unique<join_stream>(std::move(left), std::move(right), terms,
                                       std::move(context));
}

} // namespace ballast::data
