#include "data/fitting/fit_rows.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/ordered_work.hpp"
#include "data/fitting/merge_tree.hpp"
#include "data/operators/row_batches.hpp"
#include "data/source/batch_pieces.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

using fit_batch = std::shared_ptr<arrow::RecordBatch>;

/// The rows in batches whose ends do not depend on those of the stream's.
class numbered_batches {
public:
  numbered_batches(std::unique_ptr<record_stream> from,
                   std::vector<int> columns, const operator_context& context)
      : from_(std::move(from)), context_(context) {
    const auto schema = plain_schema(from_->schema());
    arrow::FieldVector fields;
    for (int column : columns)
      fields.push_back(schema->field(column));
    schema_ = arrow::schema(std::move(fields));
    from_->choose(std::move(columns));
  }

  /// Null at the end.
  fit_batch next() {
    std::vector<fit_batch> parts;
    int64_t rows = 0;
    while (rows < fit_batch_rows) {
      if (large_ == nullptr && !read())
        break;
      const int64_t taken =
          std::min(fit_batch_rows - rows, large_->num_rows() - at_);
      parts.push_back(large_->Slice(at_, taken));
      rows += taken;
      at_ += taken;
      if (at_ == large_->num_rows())
        large_ = nullptr;
    }
    if (parts.empty())
      return nullptr;
    return parts.size() == 1 ? parts[0]
                             : together(schema_, std::move(parts), context_);
  }

private:
  bool read() {
    store::check_stop(context_.stop);
    const fit_batch batch =
        take_arrow(pieces_.next([this] { return from_->next(); }),
                   errc::invalid_data, printable(context_.name));
    at_ = 0;
    // What comes may say other things of its columns than schema() did.
    large_ = batch == nullptr
                 ? nullptr
                 : arrow::RecordBatch::Make(schema_, batch->num_rows(),
                                            batch->columns());
    return batch != nullptr;
  }

  const std::unique_ptr<record_stream> from_;
  const operator_context& context_;
  std::shared_ptr<arrow::Schema> schema_;
  batch_pieces pieces_;
  fit_batch large_;
  int64_t at_ = 0;
};

/// Of a row of a batch whose last column is the origin.
row_finder place_in(const fit_batch& rows, uint64_t first_row,
                    const operator_context& context) {
  return [rows, first_row, &context](int64_t row) {
    if (context.origins == nullptr)
      return printable(context.name) + ": row " +
             std::to_string(first_row + uint64_t(row) + 1);
    return context.origins->place_of(
        numbers_in(*rows, rows->num_columns() - 1)[size_t(row)]);
  };
}

} // namespace

fitted_state fit_rows(const fitted_operator& what,
                      std::unique_ptr<record_stream> from,
                      const operator_context& context, size_t threads) {
  const auto schema = plain_schema(from->schema());
  fitted_state out = unfitted(what, *schema);
  if (!graph::about(what.terms().what.what).fitted)
    return out;
  const fit_needs needs = what.needs();
  std::vector<int> columns;
  for (const column_need& need : needs.columns)
    columns.push_back(schema->GetFieldIndex(need.column));
  columns.push_back(schema->num_fields() - 1); // the origin
  numbered_batches batches(std::move(from), std::move(columns), context);
  const std::string step = what.terms().step();
  const std::string& pointer = what.terms().pointer;
  const auto merge_two = [&](learned_facts& into, learned_facts later) {
    merge(into, std::move(later), needs, pointer);
  };
  merge_tree<learned_facts> tree;
  ordered_work<learned_facts> work(threads > 0 ? threads : work_threads(),
                                   "bl-fit");
  uint64_t first_row = 0;
  for (bool ended = false; !ended || work.under_way() > 0;) {
    while (!ended && work.under_way() < work.wanted()) {
      const fit_batch rows = batches.next();
      ended = rows == nullptr;
      if (ended)
        break;
      work.give([&, rows, first_row] {
        arrow::ArrayVector own = rows->columns();
        own.pop_back();
        return facts_of(own, needs, step, pointer,
                        place_in(rows, first_row, context), first_row);
      });
      first_row += uint64_t(rows->num_rows());
    }
    if (work.under_way() > 0)
      tree.add(work.take(), merge_two);
  }
  return learned_of(what, std::move(out),
                    tree.take(merge_two).value_or(learned_facts()));
}

} // namespace ballast::data
