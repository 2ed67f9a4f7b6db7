#include "data/column_choice.hpp"
#include "data/csv_records.hpp"
#include "data/source_error.hpp"
#include "data/source_file.hpp"
#include "data/source_table.hpp"
#include "runtime/errors.hpp"
#include "runtime/printable.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace ballast {

namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

enum class parsed : uint8_t { number, empty, text };

/// "nan" and "inf" count as numbers, to be refused as such; what is beyond a
/// double becomes infinite.
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
    // Too large or too small: 1e-400 is 0 for us, 1e400 is not.
    const bool tiny = text.find_first_of("eE") != std::string_view::npos
                          ? text.find("e-") != std::string_view::npos ||
                                text.find("E-") != std::string_view::npos
                          : text.starts_with("0.") || text.starts_with("-0.");
    out = tiny ? 0 : std::numeric_limits<double>::infinity();
  }
  return parsed::number;
}

/// One file of a source: header, then rows.
class csv_file {
public:
  csv_file(const std::string& path, const source_spec& spec,
           const source_request& request)
      : path_(path), spec_(spec), request_(request),
        text_(source_file(path, request.pointer + "/uri", request.stop)
                  .read_rest()),
        records_(text_) {}

  /// Appends the rows; `wanted` and `table.columns` as the first file has them.
  void read(source_table& table, table_rows& rows) {
    read_header();
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
    }
  }

private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw ballast_error(errc::invalid_data, why, request_.pointer);
  }

  std::string place() const {
    return printable(path_) + ": row " + std::to_string(row_) + " (line " +
           std::to_string(records_.line()) + ")";
  }

  /// Also looks at the first row, which tells columns of numbers from text.
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
    const std::string where =
        place() + ", column '" + printable(columns_[column].name) + "': ";
    if (what == parsed::empty)
      refuse(where + "the value is missing");
    constexpr size_t shown_max = 40;
    const std::string_view cell = fields_[column];
    throw source_error(
        where + "expected a number, found text of " +
            std::to_string(count_characters(cell)) + " characters",
        request_.pointer, "'" + printable(cell, shown_max) + "' is no number");
  }

  const std::string& path_;
  const source_spec& spec_;
  const source_request& request_;
  const std::string text_;
  csv_records records_;
  std::vector<table_column> columns_;
  std::vector<std::string_view> fields_;
  bool has_row_ = false;
  uint64_t row_ = 0;
};

} // namespace

source_table read_csv(const source_spec& spec, const source_request& request) {
  source_table out;
  out.label = spec.label;
  table_rows rows(out, request);
  for (const std::string& path :
       expand_uri(spec.uri, request.pointer + "/uri")) {
    out.files.push_back({path, out.labels.size() + out.targets.size()});
    csv_file(path, spec, request).read(out, rows);
  }
  rows.finish(out.columns.size());
  return out;
}

} // namespace ballast
