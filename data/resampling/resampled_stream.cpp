#include "data/resampling/resampled_stream.hpp"

#include "data/operators/operator_input.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/operators/row_batches.hpp"
#include "data/resampling/labelled_table.hpp"
#include "data/resampling/resample.hpp"
#include "data/resampling/resampled_batch.hpp"
#include "runtime/base/errors.hpp"

#include <arrow/api.h>

#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

using batch = std::shared_ptr<arrow::RecordBatch>;

/// Of rows in the order of resampled_batches().
std::vector<uint64_t> origins_of(const labelled_table& from,
                                 const resampled_rows& rows,
                                 std::span<const uint64_t> origins) {
  std::vector<uint64_t> out;
  out.reserve(rows.kept.size() + rows.made.size());
  for (const uint32_t row : rows.kept)
    out.push_back(origins[row]);
  for (const made_row& one : rows.made)
    out.push_back(origins[one.parent == no_row ? from.example(one.of_class)
                                               : one.parent]);
  return out;
}

class resampling_stream final : public operator_stream {
public:
  resampling_stream(std::unique_ptr<record_stream> from, resampling_terms terms,
                    operator_context context)
      : operator_stream(std::move(context)),
        input_(std::move(from), operator_stream::context()),
        terms_(std::move(terms)),
        label_(input_.find(terms_.label, "resamples by")) {
    set_schema(input_.schema());
  }

private:
  /// Distances are of all columns, whichever go on.
  void begin(const std::vector<int>& columns) override {
    std::vector<int> all(size_t(input_.schema()->num_fields()));
    std::iota(all.begin(), all.end(), 0);
    input_.choose(all);
    wanted_ = columns;
  }

  batch produce() override {
    if (!std::exchange(made_, true))
      make(read());
    if (given_ == batches_.size())
      return nullptr;
    return std::exchange(batches_[given_++], nullptr);
  }

  batch read() {
    std::vector<batch> batches;
    int64_t bytes = 0;
    while (batch rows = input_.next()) {
      bytes += bytes_of(*rows);
      if (bytes > memory_of(context()))
        throw ballast_error(
            errc::invalid_data,
            context().name +
                ": resampling holds all of its rows, which are "
                "more than the " +
                std::to_string(memory_of(context()) >> 20) +
                " MB of this operator; give the data more memory "
                "(/data/memory_mb), or take a \"sample\" before it",
            context().pointer);
      batches.push_back(std::move(rows));
    }
    return together(input_.chosen(), std::move(batches), context());
  }

  void make(const batch& all) {
    try {
      resample_all(all);
    } catch (const ballast_error& error) {
      // Of an option; here it is known only with the rows.
      if (error.what_failed().code != errc::usage)
        throw;
      throw ballast_error(errc::invalid_data, text_of(error),
                          context().pointer);
    }
  }

  /// What is said of an option on the command line, as a node says it.
  std::string text_of(const ballast_error& error) const {
    const std::string flag = "--option ";
    std::string why = error.what();
    if (why.starts_with(flag))
      why.erase(0, flag.size());
    return context().name + ": " + why;
  }

  void resample_all(const batch& all) {
    const int origin = all->schema()->GetFieldIndex(origin_column);
    const std::span<const uint64_t> origins = numbers_in(*all, origin);
    const labelled_table table(
        all->RemoveColumn(origin).ValueOrDie(), label_,
        reading_of(terms_.order),
        {context().name, [&](int64_t row) {
           return context().origins != nullptr
                      ? context().origins->place_of(origins[size_t(row)])
                      : context().name + ": row " + std::to_string(row + 1);
         }});
    const resampled_rows rows = resampled(table.rows());
    const std::vector<uint64_t> from = origins_of(table, rows, origins);
    size_t at = 0;
    for (const batch& some : resampled_batches(table, rows, false)) {
      const auto begin = from.begin() + std::ptrdiff_t(at);
      at += size_t(some->num_rows());
      const batch whole = with_numbers(
          some, input_.chosen(), {begin, from.begin() + std::ptrdiff_t(at)});
      batches_.push_back(whole->SelectColumns(wanted_).ValueOrDie());
    }
  }

  resampled_rows resampled(const labelled_rows& rows) {
    try {
      // No more bits than NumPy's generator takes.
      return resample(rows, terms_.order, uint32_t(context().seed),
                      {terms_.threads, context().stop});
    } catch (const ballast_error& error) {
      // Of rows; a reader of a job looks for the node.
      if (error.what_failed().code != errc::invalid_data)
        throw;
      throw ballast_error(errc::invalid_data, text_of(error),
                          context().pointer);
    }
  }

  operator_input input_;
  const resampling_terms terms_;
  const int label_;
  std::vector<int> wanted_;
  std::vector<batch> batches_;
  size_t given_ = 0;
  bool made_ = false;
};

} // namespace

std::unique_ptr<record_stream>
resampled_stream(std::unique_ptr<record_stream> from, resampling_terms terms,
                 operator_context context) {
  return std::make_unique<resampling_stream>(std::move(from), std::move(terms),
                                             std::move(context));
}

} // namespace ballast::data
