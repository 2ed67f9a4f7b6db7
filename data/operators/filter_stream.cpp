#include "data/operators/filter_stream.hpp"

#include "data/operators/origin_faults.hpp"
#include "data/source/row_condition.hpp"
#include "data/source/source_error.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

class filter_stream final : public operator_stream {
public:
  filter_stream(stream_pointer from, const std::string& where,
                operator_context context)
      : operator_stream(std::move(context)), from_(std::move(from)),
        where_(where, this->context().pointer + "/where"),
        reads_(where_.columns(without_origin(*from_->schema()))) {
    set_schema(from_->schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> places;
    const std::vector<int> read = with_keys(columns, reads_, places);
    origin_place_ = int(
        std::find(read.begin(), read.end(), from_->schema()->num_fields() - 1) -
        read.begin());
    condition_ = where_.bind(*from_->schema(), read);
    from_->choose(read);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (const std::shared_ptr<arrow::RecordBatch> rows = from_->next()) {
      auto taken = taken_of(rows);
      if (taken->num_rows() > 0)
        return taken;
    }
    return nullptr;
  }

private:
  std::shared_ptr<arrow::RecordBatch>
  taken_of(const std::shared_ptr<arrow::RecordBatch>& rows) const {
    try {
      return condition_
          ->select(rows, [this](int64_t row) { return from_->place_of(row); })
          .batch;
    } catch (const source_error&) {
      if (context().faults == nullptr)
        throw;
    }
    return condition_
        ->select(rows_with_results(rows, origin_place_, {{&*condition_, {}}},
                                   context()))
        .batch;
  }

  const stream_pointer from_;
  const row_condition where_;
  const std::vector<int> reads_;
  std::optional<bound_expression> condition_;
  int origin_place_ = 0; // of what is read
};

} // namespace

stream_pointer filter_rows(stream_pointer from, const std::string& where,
                           operator_context context) {
  return std::make_unique<filter_stream>(std::move(from), where,
                                         std::move(context));
}

} // namespace ballast::data
