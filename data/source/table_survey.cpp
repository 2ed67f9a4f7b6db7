#include "data/source/table_survey.hpp"

#include "data/operators/operator_stream.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/cell_number.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/row_condition.hpp"
#include "data/source/stream_table.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace ballast::data {

namespace {

using nlohmann::json;

void note_number(column_survey& to, double number, const std::string& place) {
  if (to.numbers + to.texts == 0)
    to.numeric = true;
  if (++to.numbers == 1)
    to.first_number = {place, ""};
  const float value = float(number);
  if (!(value - value == 0)) {
    if (++to.unusable == 1)
      to.first_unusable = {place, ""};
    return;
  }
  const bool first = to.numbers - to.unusable == 1;
  to.least = first ? number : std::min(to.least, number);
  to.most = first ? number : std::max(to.most, number);
  to.whole = to.whole && number == std::trunc(number);
}

void note_text(column_survey& to, const std::string& text,
               const std::string& place) {
  if (++to.texts == 1)
    to.first_text = {place, text};
  if (const auto known = to.words.find(text); known != to.words.end())
    ++known->second;
  else if (to.words.size() < surveyed_texts_max)
    to.words.emplace(text, 1);
}

void note_missing(column_survey& to, const std::string& place) {
  if (++to.missing == 1)
    to.first_missing = {place, ""};
}

/// The cells of one column of a batch.
class column_reader {
public:
  column_reader(column_survey& to, const record_stream& from, int column)
      : to_(to), from_(from), column_(column) {}

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

  void read_text(std::string_view text, int64_t row) {
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
};

/// Where the columns of all files come together, by name.
class survey_of {
public:
  survey_of(const source_spec& spec, const source_request& request)
      : spec_(spec), request_(request) {
    out_.pointer = request.pointer;
    files_ = stored_files(spec, request);
    for (const stored_file& file : files_)
      out_.files.push_back(file.name);
  }

  table_survey take() {
    for (const stored_file& file : files_)
      read(file);
    std::vector<table_column> columns;
    for (const column_survey& one : out_.columns)
      columns.push_back({one.name, one.numeric});
    const column_choice choice = choose_columns(printable(out_.files.at(0)),
                                                columns, spec_, request_, {});
    for (size_t i : choice.kept)
      use(i, column_use::balanced, "balance.by or balance.group names it");
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
  void read(const stored_file& file) {
    const std::unique_ptr<record_stream> from =
        open_table(spec_, request_, file, nullptr, true);
    const std::shared_ptr<arrow::Schema> schema = from->schema();
    std::vector<int> flat;
    for (int i = 0; i < schema->num_fields(); ++i)
      if (!arrow::is_nested(schema->field(i)->type()->id()) &&
          schema->field(i)->name() != origin_column)
        flat.push_back(i);
    from->choose(flat);
    std::vector<size_t> here; // of out_.columns
    for (int i : flat)
      here.push_back(column(schema->field(i)->name()));
    const std::vector<bool> taken = rows_taken(file);
    size_t first = 0;
    while (const std::shared_ptr<arrow::RecordBatch> batch = from->next()) {
      for (int i = 0; i < batch->num_columns(); ++i)
        column_reader(out_.columns[here[size_t(i)]], *from, i)
            .read(*batch->column(i), taken, first);
      first += size_t(batch->num_rows());
    }
    out_.rows += taken.empty()
                     ? first
                     : size_t(std::count(taken.begin(), taken.end(), true));
  }

  /// By the condition of the job, in a pass of its own, because columns have
  /// other types there; empty: all.
  std::vector<bool> rows_taken(const stored_file& file) const {
    std::vector<bool> out;
    if (spec_.where.empty())
      return out;
    const row_condition where(spec_.where, request_.pointer + "/where");
    const std::unique_ptr<record_stream> from =
        open_table(spec_, request_, file, nullptr);
    const std::shared_ptr<arrow::Schema> schema = from->schema();
    const std::vector<int> columns = where.columns(without_origin(*schema));
    const bound_expression condition = where.bind(*schema, columns);
    from->choose(columns);
    while (const std::shared_ptr<arrow::RecordBatch> batch = from->next()) {
      const size_t before = out.size();
      out.resize(before + size_t(batch->num_rows()));
      for (int64_t row :
           condition
               .select(batch, [&](int64_t one) { return from->place_of(one); })
               .rows)
        out[before + size_t(row)] = true;
    }
    return out;
  }

  size_t column(const std::string& name) {
    const auto [known, fresh] = by_name_.emplace(name, out_.columns.size());
    if (fresh) {
      column_survey& one = out_.columns.emplace_back();
      one.name = name;
      one.why = "text";
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
  std::vector<stored_file> files_;
  table_survey out_;
  std::map<std::string, size_t> by_name_; // its columns
};

/// As an expression has it; bare where no reader could mistake it.
std::string column_name(const std::string& name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  static const std::set<std::string> words{
      "and",  "or",   "not",   "is",   "null",      "in", "between",
      "like", "true", "false", "date", "timestamp", "if", "cast"};
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  if (!name.empty() && (name[0] < '0' || name[0] > '9') &&
      name.find_first_not_of(letters) == std::string::npos &&
      !words.contains(lower))
    return name;
  std::string out = "\"";
  for (char one : name)
    out += one == '"' ? std::string("\"\"") : std::string(1, one);
  return out + '"';
}

std::string range_text(const column_survey& one) {
  char text[80];
  std::snprintf(text, sizeof text, "%s %.6g to %.6g",
                one.whole ? "whole numbers," : "numbers,", one.least, one.most);
  return text;
}

std::string content_of(const column_survey& one) {
  constexpr size_t shown_max = 24;
  if (one.numeric)
    return range_text(one);
  if (one.words.empty())
    return "nothing";
  const std::string many =
      one.words.size() < surveyed_texts_max
          ? std::to_string(one.words.size())
          : "at least " + std::to_string(surveyed_texts_max);
  return many + (one.words.size() == 1 ? " text" : " texts") + ", such as '" +
         printable(one.words.begin()->first, shown_max) + "'";
}

} // namespace

std::string to_string(column_use what) {
  switch (what) {
  case column_use::label:
    return "label";
  case column_use::feature:
    return "feature";
  case column_use::balanced:
    return "balance";
  case column_use::left_out:
    break;
  }
  return "left out";
}

bool table_survey::clean() const {
  return std::all_of(
      columns.begin(), columns.end(),
      [](const column_survey& one) { return one.problems.empty(); });
}

table_survey survey(const source_spec& spec, const source_request& request) {
  return survey_of(spec, request).take();
}

nlohmann::json fix_of(const source_spec& spec, const table_survey& found) {
  /// Texts that are meant as "missing" are few.
  constexpr size_t null_texts_max = 8;
  std::string where = spec.where;
  std::vector<std::string> nulls = spec.null_values;
  std::vector<std::string> features;
  bool fewer = false;
  const auto demand = [&where](const std::string& condition) {
    where += (where.empty() ? "" : " and ") + condition;
  };
  for (const column_survey& one : found.columns) {
    const bool feature = one.use == column_use::feature;
    const bool label = one.use == column_use::label;
    const bool few = spec.format == source_format::csv &&
                     one.words.size() <= null_texts_max && one.numeric;
    const bool text_label = label && !one.numeric;
    if (feature && one.texts > 0 && !few) {
      fewer = true; // it holds something else than numbers
      continue;
    }
    if (feature)
      features.push_back(one.name);
    fewer = fewer || (one.use == column_use::left_out && !one.problems.empty());
    if (!feature && !label)
      continue;
    if (!text_label)
      for (const auto& [word, count] : one.words)
        if (std::find(nulls.begin(), nulls.end(), word) == nulls.end())
          nulls.push_back(word);
    if (one.missing > 0 || (one.texts > 0 && !text_label))
      demand(column_name(one.name) + " is not null");
    if (one.unusable > 0 && !text_label)
      demand("abs(" + column_name(one.name) + ") < 3.4e38");
  }
  json out;
  if (nulls != spec.null_values)
    out["null_values"] = nulls;
  if (where != spec.where)
    out["where"] = where;
  if (fewer && !features.empty())
    out["features"] = features;
  return out;
}

std::string describe(const table_survey& found, const nlohmann::json& fix) {
  std::string out = printable(found.files.at(0));
  if (found.files.size() > 1)
    out += " and " + std::to_string(found.files.size() - 1) + " more";
  out += ": " + std::to_string(found.rows) + " rows, " +
         std::to_string(found.columns.size()) + " columns\n";
  size_t width = 6;
  for (const column_survey& one : found.columns)
    width = std::max(width, std::min<size_t>(printable(one.name).size(), 40));
  for (const column_survey& one : found.columns) {
    std::string name = printable(one.name, 40);
    name.resize(std::max(width, name.size()), ' ');
    std::string use = to_string(one.use);
    use.resize(10, ' ');
    out += "  " + name + "  " + use + content_of(one) + "\n";
    for (const std::string& problem : one.problems)
      out += "  " + std::string(width, ' ') + "  ! " + problem + "\n";
  }
  if (!fix.is_null())
    out += "to train on what is sound, put this into " + found.pointer +
           ":\n  " + json_text(fix) + "\n";
  return out;
}

nlohmann::json to_json(const table_survey& found, const nlohmann::json& fix) {
  json columns = json::array();
  for (const column_survey& one : found.columns)
    columns.push_back({{"name", one.name},
                       {"use", to_string(one.use)},
                       {"why", one.why},
                       {"missing", one.missing},
                       {"numbers", one.numbers},
                       {"texts", one.texts},
                       {"unusable", one.unusable},
                       {"problems", one.problems}});
  return {{"source", found.pointer},
          {"files", found.files},
          {"rows", found.rows},
          {"columns", std::move(columns)},
          {"fix", fix}};
}

} // namespace ballast::data
