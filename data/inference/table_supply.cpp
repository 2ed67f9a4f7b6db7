#include "data/inference/row_supply.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/inference/served_input.hpp"
#include "data/sink/source_versions.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/number_columns.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

std::string names_of(const arrow::Schema& schema) {
  constexpr int listed_max = 12;
  std::string out;
  for (int i = 0; i < std::min(schema.num_fields(), listed_max); ++i)
    out += (i > 0 ? ", '" : "'") + printable(schema.field(i)->name(), 40) + "'";
  return out +
         (schema.num_fields() > listed_max
              ? ", ... (" + std::to_string(schema.num_fields()) + " in all)"
              : "");
}

graph_terms terms_of(const trained_run& of, const served_input& input,
                     const input_terms& terms) {
  graph_terms out;
  out.seed = of.what.seed;
  out.stop = terms.stop;
  out.fitted = input.states;
  out.new_rows = true;
  return out;
}

class table_rows_supply final : public row_supply {
public:
  table_rows_supply(const trained_run& run, const input_terms& terms)
      : of_(run), file_(printable(terms.file)), input_(serve_input(run, terms)),
        versions_(input_.data, {input_.source}, terms.stop),
        rows_(input_.data, input_.rows, terms_of(run, input_, terms)) {
    choose(terms);
  }

  bool add(labelled_features& to) override {
    const auto batch = rows_.next();
    if (batch == nullptr) {
      check_count();
      return false;
    }
    take(*batch, to);
    return true;
  }
  std::string version() const override { return versions_.text(); }
  void check_unchanged() const override { versions_.check_unchanged(); }

private:
  // -- columns

  int column(const std::string& name, const char* what) const {
    const auto found = schema_->GetAllFieldIndices(name);
    if (found.size() == 1)
      return found.front();
    if (found.empty() && !of_.what.data.graph.empty())
      throw source_error(file_ +
                             ": behind the nodes of the job's graph its "
                             "rows have no column '" +
                             printable(name) + "', " + what,
                         "/data/train/features",
                         "their columns are " + names_of(*schema_));
    throw source_error(
        file_ + (found.empty() ? ": has no column '" : ": has two columns '") +
            printable(name) + "', " + what,
        "/data/train/features", "its columns are " + names_of(*schema_));
  }

  void check_numbers(int index) const {
    const arrow::Field& field = *schema_->field(index);
    if (holds_numbers(*field.type()))
      return;
    throw source_error(file_ + ": column '" + printable(field.name()) +
                           "' has the type " + field.type()->ToString() +
                           "; expected numbers, as the model was trained on",
                       "/data/train/features", "");
  }

  /// One that is chosen already is read once.
  static int place_of(int index, std::vector<int>& read) {
    const auto again = std::ranges::find(read, index);
    const int out = int(again - read.begin());
    if (again == read.end())
      read.push_back(index);
    return out;
  }

  void choose(const input_terms& terms) {
    const auto all = rows_.schema();
    arrow::FieldVector own = all->fields();
    own.pop_back(); // the origin
    schema_ = arrow::schema(std::move(own));
    std::vector<int> read;
    for (const std::string& name : of_.columns) {
      read.push_back(column(name, "which the model was trained on"));
      check_numbers(read.back());
    }
    if (!terms.by.empty())
      slice_place_ = place_of(column(terms.by, "which --by names"), read);
    if (terms.labels) {
      const int index = column(of_.label, "the label of the model");
      label_place_ = place_of(index, read);
      if (of_.class_names.empty())
        check_numbers(index);
    }
    origin_place_ = int(read.size());
    read.push_back(all->num_fields() - 1);
    rows_.choose(std::move(read));
    for (size_t i = 0; i < of_.class_names.size(); ++i)
      class_numbers_.emplace(of_.class_names[i], float(i));
  }

  // -- rows

  [[noreturn]] void refuse(int64_t row, const std::string& name,
                           const std::string& why) const {
    throw row_error(rows_.place_of(row), name, why, {});
  }

  /// A row that a node removed would move the answers of all behind it.
  void check_origins(const arrow::RecordBatch& batch) {
    const auto& origins =
        static_cast<const arrow::UInt64Array&>(*batch.column(origin_place_));
    for (int64_t row = 0; row < origins.length(); ++row, ++expected_)
      if (origins.Value(row) != origin_of(input_.number, expected_))
        refuse_missing_row();
  }

  /// Behind the last one nobody else would miss them.
  void check_count() const {
    if (rows_.rows_of_source(input_.number) > expected_)
      refuse_missing_row();
  }

  [[noreturn]] void refuse_missing_row() const {
    throw ballast_error(
        errc::invalid_data,
        rows_.origins().place_of(origin_of(input_.number, expected_)) +
            ": a node of the job removes this row, so that there is no answer "
            "to it; remove it from the input");
  }

  void check_missing(const arrow::Array& column, const std::string& name) {
    if (column.null_count() == 0)
      return;
    for (int64_t row = 0; row < column.length(); ++row)
      if (column.IsNull(row))
        refuse(row, name, "the value is missing");
  }

  void take(const arrow::RecordBatch& batch, labelled_features& held) {
    check_origins(batch);
    std::vector<const arrow::Array*> features;
    for (size_t i = 0; i < of_.columns.size(); ++i) {
      check_missing(*batch.column(int(i)), of_.columns[i]);
      features.push_back(batch.column(int(i)).get());
    }
    const auto count = size_t(batch.num_rows());
    const size_t before = held.features.size();
    held.features.resize(before + count * features.size());
    number_range range;
    if (const auto bad = put_rows(features, batch.num_rows(), false,
                                  held.features.data() + before, range))
      refuse(bad->row, of_.columns[bad->column],
             std::isnan(bad->number)
                 ? "NaN is no number that the model knows"
                 : "the number does not fit into a float32");
    const auto scale = float(of_.row.scale);
    const auto offset = float(of_.row.offset);
    if (scale != 1 || offset != 0)
      for (size_t i = before; i < held.features.size(); ++i)
        held.features[i] = held.features[i] * scale + offset;
    if (label_place_)
      take_labels(*batch.column(*label_place_), held);
    if (slice_place_)
      take_slices(*batch.column(*slice_place_), held);
    held.rows += count;
  }

  static void take_slices(const arrow::Array& column, labelled_features& held) {
    for (int64_t row = 0; row < column.length(); ++row) {
      std::string cell = column.IsNull(row) ? "" : cell_of(column, row);
      held.slices.push_back(cell.empty() ? "(missing)" : std::move(cell));
    }
  }

  void take_labels(const arrow::Array& column, labelled_features& held) {
    check_missing(column, of_.label);
    if (!of_.class_names.empty()) {
      for (int64_t row = 0; row < column.length(); ++row) {
        const std::string name = cell_of(column, row);
        const auto found = class_numbers_.find(name);
        if (found == class_numbers_.end())
          refuse(row, of_.label,
                 "the label '" + printable(name, 40) + "' is none of the " +
                     std::to_string(class_numbers_.size()) +
                     " classes of the model");
        held.labels.push_back(found->second);
      }
      return;
    }
    const std::vector<double> numbers = numbers_of(column);
    for (size_t row = 0; row < numbers.size(); ++row) {
      const double one = numbers[row];
      if (of_.row.classes > 0 && !(one >= 0 && one < double(of_.row.classes) &&
                                   one == std::floor(one)))
        refuse(int64_t(row), of_.label,
               "the label is none of the " + std::to_string(of_.row.classes) +
                   " classes of the model, numbered from 0");
      if (!std::isfinite(float(one)))
        refuse(int64_t(row), of_.label, "the label is no finite number");
      held.labels.push_back(float(one));
    }
  }

  const trained_run& of_;
  const std::string file_;
  const served_input input_;
  const source_versions versions_;
  graph_stream rows_;
  std::shared_ptr<arrow::Schema> schema_; // without the origin
  std::optional<int> label_place_;        // in a batch
  std::optional<int> slice_place_;        // likewise; of --by
  int origin_place_ = 0;                  // likewise
  std::map<std::string, float> class_numbers_;
  uint64_t expected_ = 0; // the row that comes next
};

} // namespace

std::unique_ptr<row_supply> table_supply(const trained_run& of,
                                         const input_terms& terms) {
  return std::make_unique<table_rows_supply>(of, terms);
}

} // namespace ballast::data
