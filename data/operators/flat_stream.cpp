#include "data/operators/flat_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/origin_faults.hpp"
#include "data/operators/row_batches.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

#include <algorithm>
#include <span>
#include <utility>

namespace ballast::data {

namespace {

bool holds_lists(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST ||
         type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}

/// The items of a list column, by the row that has them.
class list_items {
public:
  explicit list_items(const arrow::Array& column) : column_(&column) {}

  int64_t count(int64_t row) const {
    return column_->IsNull(row) ? 0 : end(row) - begin(row);
  }
  /// Those of all rows, one after another; `keep_empty`: null for one that has
  /// none.
  std::shared_ptr<arrow::Array> all(bool keep_empty,
                                    const operator_context& context) const {
    arrow::Int64Builder places;
    const auto put = [&](const arrow::Status& status) {
      check_arrow(status, errc::device_failed, printable(context.name));
    };
    for (int64_t row = 0; row < column_->length(); ++row) {
      const int64_t items = count(row);
      put(places.Reserve(items + 1));
      for (int64_t i = 0; i < items; ++i)
        places.UnsafeAppend(begin(row) + i);
      if (items == 0 && keep_empty)
        places.UnsafeAppendNull();
    }
    const auto chosen = take_arrow(places.Finish(), errc::device_failed,
                                   printable(context.name));
    return take_arrow(arrow::compute::Take(*values(), *chosen),
                      errc::invalid_data, printable(context.name));
  }

private:
  template <class Do>
  auto visit(Do work) const {
    switch (column_->type_id()) {
    case arrow::Type::LARGE_LIST:
      return work(static_cast<const arrow::LargeListArray&>(*column_));
    case arrow::Type::FIXED_SIZE_LIST:
      return work(static_cast<const arrow::FixedSizeListArray&>(*column_));
    default:
      return work(static_cast<const arrow::ListArray&>(*column_));
    }
  }
  int64_t begin(int64_t row) const {
    return visit(
        [row](const auto& lists) { return int64_t(lists.value_offset(row)); });
  }
  int64_t end(int64_t row) const {
    return begin(row) + visit([row](const auto& lists) {
             return int64_t(lists.value_length(row));
           });
  }
  std::shared_ptr<arrow::Array> values() const {
    return visit([](const auto& lists) { return lists.values(); });
  }

  const arrow::Array* column_;
};

class flat_stream final : public operator_stream {
public:
  flat_stream(stream_pointer from, const std::vector<std::string>& columns,
              bool keep_empty, operator_context context)
      : operator_stream(std::move(context)), from_(std::move(from)),
        keep_empty_(keep_empty), names_(columns) {
    const std::string field = this->context().pointer + "/columns";
    arrow::FieldVector fields = from_->schema()->fields();
    for (const std::string& name : columns) {
      const int index = find_column(*from_->schema(), name, field);
      const auto& list = fields[size_t(index)];
      if (std::count(lists_.begin(), lists_.end(), index) > 0)
        throw ballast_error(
            errc::invalid_data,
            field + ": '" + printable(name) + "' is there twice", field);
      if (!holds_lists(*list->type()))
        throw ballast_error(
            errc::invalid_data,
            field + ": column '" + printable(name) + "' has the type " +
                printable(list->type()->ToString(), 200) + "; expected lists",
            field);
      lists_.push_back(index);
      fields[size_t(index)] =
          arrow::field(name, list->type()->field(0)->type());
    }
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> repeated;
    for (int column : columns) {
      const auto list = std::find(lists_.begin(), lists_.end(), column);
      const bool is_item = list != lists_.end();
      wanted_.push_back(
          {is_item, is_item ? size_t(list - lists_.begin()) : repeated.size()});
      if (column == schema()->num_fields() - 1)
        origin_at_ = int(repeated.size());
      if (!is_item)
        repeated.push_back(column);
    }
    repeated_ = repeated.size();
    repeated.insert(repeated.end(), lists_.begin(), lists_.end());
    from_->choose(std::move(repeated));
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (at_ == rows_.size()) {
      const std::shared_ptr<arrow::RecordBatch> batch = from_->next();
      if (batch == nullptr)
        return nullptr;
      open(good_rows(batch));
    }
    // Those that are repeated decide how many at once: items are there already.
    const std::span<const uint32_t> left =
        std::span<const uint32_t>(rows_).subspan(at_);
    const size_t count =
        row_meter(*beside_).that_fit(left, rows_at_once, bytes_at_once);
    const auto beside = taken(beside_, left.first(count), context());
    arrow::ArrayVector out;
    arrow::FieldVector fields;
    for (const auto& [is_item, index] : wanted_) {
      out.push_back(is_item ? items_[index]->Slice(int64_t(at_), int64_t(count))
                            : beside->column(int(index)));
      fields.push_back(arrow::field("", out.back()->type()));
    }
    at_ += count;
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                    int64_t(count), std::move(out));
  }

private:
  std::vector<list_items> lists_of(const arrow::RecordBatch& batch) const {
    std::vector<list_items> out;
    for (size_t i = 0; i < lists_.size(); ++i)
      out.emplace_back(*batch.column(int(repeated_ + i)));
    return out;
  }

  /// Those whose lists are equally long; another one is refused, or left out.
  std::shared_ptr<arrow::RecordBatch>
  good_rows(const std::shared_ptr<arrow::RecordBatch>& batch) const {
    const std::vector<list_items> lists = lists_of(*batch);
    std::vector<bad_row> bad;
    for (int64_t row = 0; lists.size() > 1 && row < batch->num_rows(); ++row) {
      const int64_t items = lists[0].count(row);
      for (size_t i = 1; i < lists.size(); ++i)
        if (const int64_t has = lists[i].count(row); has != items) {
          const std::string why = misfit(has, items);
          if (context().faults == nullptr)
            throw row_error(from_->place_of(row), names_[i], why,
                            context().pointer);
          bad.push_back({row, names_[i], why, {}});
          break;
        }
    }
    return without_bad_rows(batch, origin_at_, bad, context());
  }

  std::string misfit(int64_t has, int64_t others) const {
    return "has " + std::to_string(has) + (has == 1 ? " item" : " items") +
           ", column '" + printable(names_[0]) + "' has " +
           std::to_string(others) + "; expected equally many";
  }

  void open(const std::shared_ptr<arrow::RecordBatch>& good) {
    const arrow::RecordBatch& batch = *good;
    const std::vector<list_items> lists = lists_of(batch);
    rows_.clear();
    at_ = 0;
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      const int64_t items = lists[0].count(row);
      rows_.insert(rows_.end(), items == 0 && keep_empty_ ? 1 : size_t(items),
                   uint32_t(row));
    }
    items_.clear();
    for (const list_items& one : lists)
      items_.push_back(one.all(keep_empty_, context()));
    std::vector<int> beside;
    for (size_t i = 0; i < repeated_; ++i)
      beside.push_back(int(i));
    beside_ = take_arrow(batch.SelectColumns(beside), errc::internal,
                         printable(context().name));
  }

  struct part {
    bool is_item = false;
    size_t index = 0; // in items_, or in beside_
  };

  const stream_pointer from_;
  const bool keep_empty_;
  const std::vector<std::string> names_;
  std::vector<int> lists_; // their columns
  std::vector<part> wanted_;
  size_t repeated_ = 0; // columns that are read before the lists
  int origin_at_ = 0;   // of those
  // Of the batch that is handed out.
  std::shared_ptr<arrow::RecordBatch> beside_;
  arrow::ArrayVector items_;
  std::vector<uint32_t> rows_; // of `beside_`, by item
  size_t at_ = 0;
};

} // namespace

stream_pointer flat_rows(stream_pointer from,
                         const std::vector<std::string>& columns,
                         bool keep_empty, operator_context context) {
  return std::make_unique<flat_stream>(std::move(from), columns, keep_empty,
                                       std::move(context));
}

stream_pointer unbatched_rows(stream_pointer from,
                              std::vector<std::string> columns,
                              operator_context context) {
  if (columns.empty()) {
    const auto schema = without_origin(*from->schema());
    for (const auto& field : schema->fields())
      if (holds_lists(*field->type()))
        columns.push_back(field->name());
    if (columns.empty())
      throw ballast_error(errc::invalid_data,
                          context.pointer + ": none of the columns of '" +
                              printable(context.name) +
                              "' holds lists; expected what `batch` gives",
                          context.pointer);
  }
  return flat_rows(std::move(from), columns, false, std::move(context));
}

} // namespace ballast::data
