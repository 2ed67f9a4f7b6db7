#include "data/source/table_survey.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/bad_rows.hpp"
#include "data/source/cell_number.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/column_notes.hpp"
#include "data/source/row_condition.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_table.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace ballast::data {

namespace {

const char* kept_for(const column_to_keep& one) {
  return one.pointer == "/train/sampling/column"
             ? "train.sampling names it"
             : "balance.by or balance.group names it";
}

/// The cells of one column of a batch.
class column_reader {
public:
  /// `stated`: by the job; null: as its cells are.
  column_reader(column_survey& to, const record_stream& from, int column,
                const column_type* stated)
      : to_(to), from_(from), column_(column), stated_(stated) {}

  /// Only the rows that are taken; empty: all.
  void read(const arrow::Array& cells, const std::vector<bool>& taken,
            size_t first) {
    const bool numeric = holds_numbers(*cells.type());
    const std::vector<double> numbers =
        numeric ? numbers_of(cells) : std::vector<double>();
    for (int64_t row = 0; row < cells.length(); ++row)
      if (!taken.empty() && !taken[first + size_t(row)])
        continue;
      else if (const auto text = from_.text_of(column_, row))
        read_text(*text, row);
      else if (cells.IsNull(row))
        missing(row);
      else if (numeric)
        number(numbers[size_t(row)], row);
      else
        text_is(cell_of(cells, row), row);
  }

private:
  // The place costs more than the rest, and is asked for once.
  std::string place(bool asked, int64_t row) const {
    return asked ? from_.place_of(row) : std::string();
  }
  void missing(int64_t row) { note_missing(to_, place(to_.missing == 0, row)); }
  void number(double what, int64_t row) {
    note_number(to_, what,
                place(to_.numbers == 0 || !std::isfinite(float(what)), row));
  }
  void text_is(const std::string& what, int64_t row) {
    note_text(to_, what, place(to_.texts == 0, row));
  }

  void read_stated(std::string_view text, int64_t row) {
    double found = 0;
    const bool numeric = is_number(*stated_);
    to_.numeric = numeric;
    if (text.empty())
      missing(row);
    else if (const bool good = is_of_type(*stated_, text, found);
             good && numeric)
      number(found, row);
    else if (good || numeric)
      text_is(std::string(text), row);
    else if (++to_.misfits == 1)
      to_.first_misfit = {place(true, row), std::string(text)};
  }
  static bool is_number(column_type one) {
    return one == column_type::int64 || one == column_type::float64 ||
           one == column_type::boolean;
  }

  void read_text(std::string_view text, int64_t row) {
    if (stated_ != nullptr)
      return read_stated(text, row);
    double found = 0;
    switch (parse_number(text, found)) {
    case parsed::number:
      return number(found, row);
    case parsed::empty:
      return missing(row);
    case parsed::text:
      return text_is(std::string(text), row);
    }
  }

  column_survey& to_;
  const record_stream& from_;
  const int column_;
  const column_type* const stated_;
};

/// Where the columns of all files come together, by name.
class survey_of {
public:
  survey_of(const source_spec& spec, const source_request& request)
      : spec_(spec), request_(request), stated_(types_stated(spec)) {
    out_.pointer = request.pointer;
    files_ = stored_files(spec, request);
    for (const stored_file& file : files_)
      out_.files.push_back(file.name);
  }

  table_survey take() {
    read_all();
    std::vector<table_column> columns;
    for (const column_survey& one : out_.columns)
      columns.push_back(
          {one.name,
           one.numeric && !(one.later && chosen_by_content(spec_, request_))});
    const column_choice choice = choose_columns(printable(out_.files.at(0)),
                                                columns, spec_, request_, {});
    for (size_t i = 0; i < choice.kept.size(); ++i)
      use(choice.kept[i], column_use::balanced, kept_for(request_.kept.at(i)));
    for (size_t i : choice.features)
      use(i, column_use::feature,
          spec_.features.empty() ? "numbers" : "features names it");
    if (choice.label)
      use(*choice.label, column_use::label, "label names it");
    for (column_survey& one : out_.columns)
      judge(one);
    return std::move(out_);
  }

private:
  /// Those without rows tell nothing, if another one has some.
  void read_all() {
    bool any = false;
    for (size_t i = 0; i < files_.size(); ++i)
      try {
        any = read(files_[i], any || i + 1 < files_.size()) || any;
      } catch (const no_rows_error&) {
        if (!any && i + 1 == files_.size())
          throw;
      }
  }

  /// False: it has no rows, and was `passed_over`.
  bool read(const stored_file& file, bool passed_over) {
    if (passed_over && tells_types(spec_.format) &&
        !open_table(spec_, request_, file, {.typing = cell_typing::none})
             ->has_rows())
      return false;
    const table_survey before = out_;
    const std::optional<row_faults> faults_before =
        request_.faults != nullptr ? std::optional(*request_.faults)
                                   : std::nullopt;
    const auto columns_before = by_name_;
    std::unique_ptr<record_stream> from;
    try {
      from = read_columns(file, false);
    } catch (const ballast_error& error) {
      if (error.what_failed().code != errc::invalid_data ||
          spec_.format == source_format::csv) // all of it is text here
        throw;
      // It may be a cell that a run does not look at.
      out_ = before;
      if (faults_before)
        *request_.faults = *faults_before;
      by_name_ = columns_before;
      from = read_columns(file, true);
    }
    refuse_empty_graph(*from);
    if (first_.empty())
      first_ = file.name;
    return true;
  }

  /// As a run does: without rows its columns would seem to hold nothing.
  void refuse_empty_graph(const record_stream& from) const {
    const auto* graph = dynamic_cast<const graph_stream*>(&from);
    if (graph == nullptr || rows_read_ > 0)
      return;
    if (request_.faults != nullptr)
      request_.faults->check(/*at_end=*/true);
    graph->refuse_no_rows();
  }
  std::unique_ptr<record_stream> read_columns(const stored_file& file,
                                              bool only_used) {
    std::unique_ptr<record_stream> from =
        open_table(spec_, request_, file, {.typing = cell_typing::none});
    const std::shared_ptr<arrow::Schema> schema = from->schema();
    const std::vector<int> used =
        only_used ? used_of(file, *schema) : std::vector<int>();
    std::vector<int> read;
    std::vector<size_t> here; // of out_.columns
    note_lacking(file, *schema);
    for (int i = 0; i < schema->num_fields(); ++i) {
      const arrow::Field& field = *schema->field(i);
      if (arrow::is_nested(field.type()->id()) || field.name() == origin_column)
        continue;
      const size_t to = column(field.name());
      if (only_used && std::find(used.begin(), used.end(), i) == used.end())
        continue;
      read.push_back(i);
      here.push_back(to);
    }
    if (chosen_by_content(spec_, request_))
      from->leave_out({}, false);
    from->choose(read);
    std::vector<bool> taken = rows_taken(file);
    size_t first = 0;
    while (const std::shared_ptr<arrow::RecordBatch> batch = from->next()) {
      if (request_.faults != nullptr)
        leave_out(*from, file, first, *batch, taken);
      for (int i = 0; i < batch->num_columns(); ++i) {
        column_survey& to = out_.columns[here[size_t(i)]];
        const auto stated = stated_.find(to.name);
        column_reader(to, *from, i,
                      stated == stated_.end() ? nullptr : &stated->second)
            .read(*batch->column(i), taken, first);
      }
      first += size_t(batch->num_rows());
    }
    rows_read_ = first;
    out_.rows += taken.empty()
                     ? first
                     : size_t(std::count(taken.begin(), taken.end(), true));
    return from;
  }

  /// Rows that could not be read are told, and not looked at.
  void leave_out(const record_stream& from, const stored_file& file,
                 size_t first, const arrow::RecordBatch& batch,
                 std::vector<bool>& taken) const {
    if (spec_.format != source_format::graph) // whose nodes tell
      request_.faults->read(uint64_t(batch.num_rows()));
    const std::vector<bad_row>& bad = from.bad_rows();
    taken.resize(std::max(taken.size(), first + size_t(batch.num_rows())),
                 true);
    for (const bad_row& one : bad) {
      row_fault out;
      out.source = request_.pointer.substr(request_.pointer.rfind('/') + 1);
      out.file = file.name;
      out.row = first + uint64_t(one.row) + 1;
      out.line = from.line_of(one.row);
      out.column = one.column;
      out.reason = one.reason;
      out.text = one.text;
      request_.faults->add(out);
      taken[first + size_t(one.row)] = false;
    }
  }

  /// What a run reads of columns that have types.
  std::vector<int> used_of(const stored_file& file,
                           const arrow::Schema& schema) const {
    std::vector<table_column> columns;
    for (const auto& field : schema.fields())
      if (field->name() != origin_column) // the last one
        columns.push_back({field->name(), holds_numbers(*field->type())});
    const column_choice choice =
        choose_columns(printable(file.name), columns, spec_, request_, {});
    std::vector<int> out(choice.features.begin(), choice.features.end());
    out.insert(out.end(), choice.kept.begin(), choice.kept.end());
    if (choice.label)
      out.push_back(int(*choice.label));
    return out;
  }

  /// By the condition of the job, in a pass of its own, because columns have
  /// other types there; empty: all.
  std::vector<bool> rows_taken(const stored_file& file) {
    std::vector<bool> out;
    if (spec_.where.empty())
      return out;
    if (!where_)
      where_.emplace(spec_.where, request_.pointer + "/where");
    const std::unique_ptr<record_stream> from =
        open_table(spec_, request_, file);
    where_->read_alike(*from, {});
    const std::shared_ptr<arrow::Schema> schema = from->schema();
    const std::vector<int> columns =
        where_->columns(without_origin(*schema), file.name);
    const bound_expression condition =
        where_->bind(*schema, columns, file.name);
    from->choose(columns);
    while (const std::shared_ptr<arrow::RecordBatch> batch = from->next()) {
      const size_t before = out.size();
      out.resize(before + size_t(batch->num_rows()));
      for (int64_t row : rows_of_which_true(condition, batch, *from))
        out[before + size_t(row)] = true;
    }
    return out;
  }

  /// Where bad rows are left out, those for which it is neither are, too.
  std::vector<int64_t>
  rows_of_which_true(const bound_expression& condition,
                     const std::shared_ptr<arrow::RecordBatch>& batch,
                     const record_stream& from) const {
    const auto place = [&](int64_t row) { return from.place_of(row); };
    if (request_.faults == nullptr)
      return condition.select(batch, place).rows;
    std::vector<bad_row> bad;
    for (failing_row& one : condition.failing(*batch))
      bad.push_back({one.row, {}, std::move(one.reason), {}});
    put_in_order(bad);
    const selected_rows good = without_rows(batch, bad);
    std::vector<int64_t> out = condition.select(good.batch, place).rows;
    for (int64_t& row : out)
      row = good.rows[size_t(row)];
    return out;
  }

  /// A run takes the columns of the first file.
  void note_lacking(const stored_file& file, const arrow::Schema& schema) {
    for (column_survey& one : out_.columns)
      if (one.lacking.empty() && schema.GetFieldIndex(one.name) < 0)
        one.lacking = file.name;
  }

  size_t column(const std::string& name) {
    const auto [known, fresh] = by_name_.emplace(name, out_.columns.size());
    if (fresh) {
      column_survey& one = out_.columns.emplace_back();
      one.name = name;
      one.why = "text";
      one.later = !first_.empty();
      one.lacking = first_;
    }
    return known->second;
  }

  void use(size_t column, column_use as, const std::string& why) {
    out_.columns[column].use = as;
    out_.columns[column].why = why;
  }

  void judge(column_survey& one) const {
    constexpr size_t shown_max = 40;
    const auto cells = [](uint64_t count, const std::string& what,
                          const surveyed_cell& first) {
      return std::to_string(count) + (count == 1 ? " cell " : " cells ") +
             what + ", the first in " + first.place;
    };
    const bool text_label = one.use == column_use::label && !one.numeric &&
                            request_.label == label_kind::number_of_class;
    if (one.use == column_use::left_out && spec_.features.empty() &&
        one.numbers > one.unusable && one.texts > 0)
      one.problems.push_back(
          cells(one.numbers, "with numbers", one.first_number) +
          ", in a column that begins with text");
    if (one.use != column_use::left_out && !one.lacking.empty())
      one.problems.push_back("is not in " + printable(one.lacking));
    if (one.use != column_use::left_out && one.misfits > 0)
      one.problems.push_back(
          cells(one.misfits,
                "that are not of the type " + spec_.columns.at(one.name) +
                    " ('" + printable(one.first_misfit.text, shown_max) + "')",
                one.first_misfit));
    if (text_label && one.numbers > 0)
      one.problems.push_back(
          cells(one.numbers, "with numbers", one.first_number) +
          ", in labels that begin with text");
    if (one.use != column_use::label && one.use != column_use::feature)
      return;
    if (one.missing > 0)
      one.problems.push_back(
          cells(one.missing, "without a value", one.first_missing));
    if (one.texts > 0 && !text_label)
      one.problems.push_back(cells(
          one.texts,
          "with text ('" + printable(one.first_text.text, shown_max) + "')",
          one.first_text));
    if (one.unusable > 0 && !text_label)
      one.problems.push_back(cells(one.unusable,
                                   "with NaN or a number beyond float32",
                                   one.first_unusable));
    if (one.use == column_use::label && !text_label &&
        request_.label == label_kind::number_of_class)
      judge_classes(one);
  }

  static void judge_classes(column_survey& one) {
    if (one.numbers == one.unusable)
      return;
    if (!one.whole || one.least < 0 || one.most >= double(classes_max))
      one.problems.push_back("numbers that are no classes: expected whole ones "
                             "from 0 to " +
                             std::to_string(classes_max - 1) +
                             ", or the loss mse");
    else if (one.least == one.most)
      one.problems.push_back("the same label in every row");
  }

  const source_spec& spec_;
  const source_request& request_;
  const stated_types stated_;
  std::vector<stored_file> files_;
  std::optional<row_condition> where_;
  std::string first_; // file that has rows; empty: not read yet
  table_survey out_;
  size_t rows_read_ = 0;                  // of the last file
  std::map<std::string, size_t> by_name_; // its columns
};

} // namespace

table_survey survey(const source_spec& spec, const source_request& request) {
  return survey_of(spec, request).take();
}

} // namespace ballast::data
