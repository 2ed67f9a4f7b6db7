#include "data/source/column_choice.hpp"
#include "data/source/csv_records.hpp"
#include "data/source/source_error.hpp"
#include "data/source/source_file.hpp"
#include "data/source/source_table.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <map>

namespace ballast::data {

namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

enum class parsed : uint8_t { number, empty, text };

/// "nan" and "inf" count as numbers, so that they are refused as such; a number
/// beyond double becomes infinite.
parsed parse_number(std::string_view text, double& out) {
  text = trimmed(text);
  if (text.empty())
    return parsed::empty;
  if (text.front() == '+')
    text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (rest != end ||
      (error != std::errc{} && error != std::errc::result_out_of_range))
    return parsed::text;
  if (error == std::errc::result_out_of_range) {
    // Out of range: 1e-400 counts as 0, 1e400 is an error.
    const bool tiny = text.find_first_of("eE") != std::string_view::npos
                          ? text.find("e-") != std::string_view::npos ||
                                text.find("E-") != std::string_view::npos
                          : text.starts_with("0.") || text.starts_with("-0.");
    out = tiny ? 0 : std::numeric_limits<double>::infinity();
  }
  return parsed::number;
}

/// A column with text in the first row of the first file, by name. If any of
/// its cells holds a number, it is numeric and the text cell is the mistake.
struct text_cell {
  std::string text;
  std::string file;
  std::string row;
};
using text_cells = std::map<std::string, text_cell>;

/// One file of a source: header, then rows.
class csv_file {
public:
  csv_file(const std::string& path, const source_spec& spec,
           const source_request& request)
      : path_(path), spec_(spec), request_(request),
        text_(source_file(path, request.pointer + "/uri", request.stop)
                  .read_rest()),
        records_(text_) {}

  /// Appends the rows; `wanted`, `table.columns` and `texts` come from the
  /// first file.
  void read(source_table& table, table_rows& rows, text_cells& texts) {
    read_header();
    if (chosen_by_content(spec_, request_))
      watch_texts(table, texts);
    const std::vector<std::string>& wanted =
        !table.columns.empty() || request_.like == nullptr
            ? table.columns
            : request_.like->columns;
    const column_choice choice =
        choose_columns(printable(path_), columns_, spec_, request_, wanted);
    if (table.columns.empty())
      for (size_t feature : choice.features)
        table.columns.push_back(columns_[feature].name);
    for (bool more = has_row_; more; more = next_row()) {
      if (choice.label)
        rows.label(number(*choice.label), columns_[*choice.label].name,
                   [&] { return place(); });
      else
        rows.no_label();
      for (size_t feature : choice.features)
        rows.feature(number(feature), columns_[feature].name,
                     [&] { return place(); });
      for (size_t i = 0; i < choice.kept.size(); ++i)
        rows.keep(i, trimmed(fields_[choice.kept[i]]));
      check_texts();
    }
  }

private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw ballast_error(errc::invalid_data, why, request_.pointer);
  }

  std::string row() const {
    return "row " + std::to_string(row_) + " (line " +
           std::to_string(records_.line()) + ")";
  }
  std::string place() const { return printable(path_) + ": " + row(); }

  /// Also reads the first row, which tells numeric columns from text.
  void read_header() {
    if (!records_.next(fields_))
      refuse(printable(path_) +
             ": is empty; expected a line with the column names");
    for (std::string_view name : fields_)
      columns_.push_back({std::string(trimmed(name)), false});
    has_row_ = next_row();
    if (!has_row_)
      refuse(printable(path_) +
             ": has no rows after its header; the data set is empty");
    for (size_t i = 0; i < columns_.size(); ++i) {
      double ignored = 0;
      columns_[i].numeric = parse_number(fields_[i], ignored) != parsed::text;
    }
  }

  /// Collects the columns to leave out unless a number is found in them.
  void watch_texts(source_table& table, text_cells& texts) {
    if (!table.left_out) {
      table.left_out.emplace();
      for (size_t i : text_columns(columns_, spec_, request_)) {
        table.left_out->push_back(printable(columns_[i].name));
        texts.try_emplace(columns_[i].name,
                          text_cell{std::string(fields_[i]), path_, row()});
      }
    }
    const bool first = table.columns.empty();
    for (size_t i = 0; i < columns_.size(); ++i)
      if (const auto found = texts.find(columns_[i].name);
          found != texts.end() && !(first && columns_[i].numeric))
        watched_.emplace_back(i, &found->second);
    // There is nothing to train on unless one of them is numeric after all.
    if (first && !has_feature())
      while (next_row())
        check_texts();
  }

  bool has_feature() const {
    for (const table_column& one : columns_)
      if (one.numeric &&
          (request_.label == label_kind::none || one.name != spec_.label))
        return true;
    return false;
  }

  void check_texts() const {
    for (const auto& [column, first] : watched_)
      if (double found = 0;
          parse_number(fields_[column], found) == parsed::number &&
          std::isfinite(found)) // some files write "nan" for missing text
        refuse_text(column, *first);
  }

  [[noreturn]] void refuse_text(size_t column, const text_cell& first) const {
    throw source_error(
        not_a_number(printable(first.file) + ": " + first.row, column,
                     "expected a number as in " +
                         (first.file == path_ ? row() : place()),
                     first.text) +
            "; correct the cell, or name the columns to train on in " +
            request_.pointer + "/features",
        request_.pointer, detail_of(first.text));
  }

  bool next_row() {
    if (!records_.next(fields_))
      return false;
    ++row_;
    if (records_.broken())
      refuse(place() + ": a quote is opened and never closed");
    if (fields_.size() != columns_.size())
      refuse(place() + " has " + std::to_string(fields_.size()) +
             " columns, the header has " + std::to_string(columns_.size()));
    return true;
  }

  double number(size_t column) const {
    double out = 0;
    const parsed what = parse_number(fields_[column], out);
    if (what == parsed::number)
      return out;
    if (what == parsed::empty)
      refuse(at(place(), column) + "the value is missing");
    const std::string_view cell = fields_[column];
    throw source_error(not_a_number(place(), column, "expected a number", cell),
                       request_.pointer, detail_of(cell));
  }

  std::string at(const std::string& place, size_t column) const {
    return place + ", column '" + printable(columns_[column].name) + "': ";
  }
  std::string not_a_number(const std::string& place, size_t column,
                           const std::string& expected,
                           std::string_view cell) const {
    return at(place, column) + expected + ", found text of " +
           std::to_string(count_characters(cell)) + " characters";
  }
  static std::string detail_of(std::string_view cell) {
    constexpr size_t shown_max = 40;
    return "'" + printable(cell, shown_max) + "' is no number";
  }

  const std::string& path_;
  const source_spec& spec_;
  const source_request& request_;
  const std::string text_;
  csv_records records_;
  std::vector<table_column> columns_;
  std::vector<std::string_view> fields_;
  std::vector<std::pair<size_t, const text_cell*>> watched_;
  bool has_row_ = false;
  uint64_t row_ = 0;
};

} // namespace

source_table read_csv(const source_spec& spec, const source_request& request) {
  source_table out;
  out.label = spec.label;
  table_rows rows(out, request);
  text_cells texts;
  for (const std::string& path :
       expand_uri(spec.uri, request.pointer + "/uri")) {
    out.files.push_back({path, out.labels.size() + out.targets.size()});
    csv_file(path, spec, request).read(out, rows, texts);
  }
  rows.finish(out.columns.size());
  return out;
}

} // namespace ballast::data
