#include "data/operators/sort_stream.hpp"

#include "data/operators/held_rows.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/sorted_runs.hpp"

#include <arrow/api.h>

#include <optional>
#include <utility>

namespace ballast::data {

namespace {

class sort_stream : public operator_stream {
public:
  sort_stream(std::unique_ptr<record_stream> from,
              const std::vector<sort_key>& by, operator_context context)
      : operator_stream(std::move(context)),
        input_(std::move(from), operator_stream::context()) {
    for (const sort_key& key : by) {
      keys_.push_back(input_.find_key(key.column, "sorts by"));
      ordering_.by.push_back(
          {0, key.descending ? key_use::descending : key_use::ascending});
    }
    set_schema(input_.schema());
  }

private:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> places;
    input_.choose(with_keys(columns, keys_, places));
    for (size_t i = 0; i < places.size(); ++i)
      ordering_.by[i].column = places[i];
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    if (!std::exchange(read_, true))
      read();
    return runs_ ? runs_->next() : in_memory_.next();
  }

  void read() {
    held_rows held(input_.chosen(), context(), keys_.size());
    while (const std::shared_ptr<arrow::RecordBatch> rows = input_.next()) {
      if (held.would_be_too_many(*rows))
        write(held);
      held.add(rows);
    }
    if (!runs_)
      in_memory_ = held.in_order(ordering_);
    else
      write(held);
  }

  void write(held_rows& held) {
    if (!runs_)
      runs_.emplace(input_.chosen(), ordering_, context(),
                    memory_of(context()));
    const ordered_rows rows = held.in_order(ordering_);
    spill_writer out(context(), input_.chosen());
    write_in_order(out, rows.rows(), rows.order(), runs_->block_bytes(),
                   context());
    runs_->add(out.finish());
  }

  operator_input input_;
  std::vector<int> keys_; // of the input's schema
  row_ordering ordering_; // by those that are read
  bool read_ = false;
  ordered_rows in_memory_;
  std::optional<sorted_runs> runs_;
};

} // namespace

std::unique_ptr<record_stream> sort_rows(std::unique_ptr<record_stream> from,
                                         std::vector<sort_key> by,
                                         operator_context context) {
  return std::make_unique<sort_stream>(std::move(from), by, std::move(context));
}

} // namespace ballast::data
