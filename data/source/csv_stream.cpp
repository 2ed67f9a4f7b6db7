#include "data/source/csv_stream.hpp"

#include "data/source/cell_number.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_file.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ballast::data {

namespace {

/// For the first cell of a column that is not missing.
constexpr size_t rows_looked_ahead = 1000;
/// Of wide rows fewer.
constexpr size_t bytes_looked_ahead = size_t{64} << 20;
/// For the types of columns of which the first block says nothing.
constexpr size_t bytes_of_silence = size_t{8} << 20;

} // namespace

csv_stream::csv_stream(std::string name, text_input text, terms how)
    : how_(std::move(how)), text_(std::move(text), how_.block_bytes) {
  format_.path = std::move(name);
  format_.pointer = how_.pointer;
  format_.null_values = how_.null_values;
  format_.tolerant = how_.tolerant;
  read_header();
  if (how_.typing == cell_typing::exact)
    refuse_alike();
  state_types();
  read_first_row();
  if (how_.typing != cell_typing::none && how_.tolerant)
    find_common();
  else if (how_.typing == cell_typing::numbers)
    find_numeric();
  else if (how_.typing == cell_typing::exact)
    find_exact();
  for (size_t i = 0; i < format_.columns.size(); ++i)
    format_.chosen.push_back(int(i));
}

void csv_stream::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_data, why, how_.pointer);
}

/// Reads another block.
bool csv_stream::more() {
  csv_block block;
  if (!text_.next(block))
    return false;
  if (text_.too_long())
    refuse(printable(format_.path) + ": has a row of more than " +
           std::to_string(csv_record_bytes_max >> 20) +
           " MiB; is a quote opened and never closed?");
  blocks_.push_back(std::move(block));
  return true;
}

void csv_stream::read_header() {
  for (;; blocks_.pop_front()) {
    if (blocks_.empty() && !more())
      throw no_rows_error(printable(format_.path) +
                              ": is empty; expected a line with the column "
                              "names",
                          how_.pointer);
    csv_block& block = blocks_.front();
    if (const known_content is = content_of(block.text(), {});
        is.name == text_in_utf16)
      refuse(printable(format_.path) + ": is " + std::string(is.name) + "; " +
             std::string(is.remedy));
    csv_records records(block.text());
    std::vector<std::string_view> names;
    if (!records.next(names)) {
      before_.lines +=
          uint64_t(std::count(block.text().begin(), block.text().end(), '\n'));
      continue; // nothing but empty lines
    }
    if (records.goes_on())
      refuse(printable(format_.path) + ": line " +
             std::to_string(before_.lines + records.line()) +
             ", the header: a name goes on behind its closing quote");
    for (std::string_view one : names)
      format_.columns.push_back({std::string(trimmed(one))});
    format_.separator = records.separator();
    const std::string_view header = block.text().substr(0, records.at());
    before_.lines += uint64_t(std::count(header.begin(), header.end(), '\n'));
    block.begin = records.at();
    return;
  }
}

/// It tells columns of numbers from text.
void csv_stream::read_first_row() {
  csv_place before = before_;
  for (size_t i = 0; i < blocks_.size() || more(); ++i) {
    csv_cursor row(format_, blocks_[i].text(), before);
    if (row.next()) {
      for (std::string_view cell : row.fields())
        first_row_.emplace_back(cell);
      first_line_ = row.line();
      return;
    }
    const std::string_view empty = blocks_[i].text();
    before.lines += uint64_t(std::count(empty.begin(), empty.end(), '\n'));
  }
  throw no_rows_error(
      printable(format_.path) + ": has no rows after its header", how_.pointer);
}

/// Nobody could say which of two is meant.
void csv_stream::refuse_alike() const {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < format_.columns.size(); ++i) {
    const std::string& name = format_.columns[i].name;
    const auto [first, fresh] = places.emplace(name, i);
    if (!fresh)
      refuse(printable(format_.path) + ": columns " +
             std::to_string(first->second + 1) + " and " +
             std::to_string(i + 1) +
             (name.empty() ? " have no name"
                           : " are both named '" + printable(name) + "'") +
             "; give each a name of its own in the header");
  }
}

void csv_stream::state_types() {
  std::vector<std::string> names;
  for (const csv_format::column& one : format_.columns)
    names.push_back(one.name);
  check_stated(how_.stated, names, format_.path, how_.pointer);
  for (csv_format::column& one : format_.columns)
    if (const auto found = how_.stated.find(one.name);
        found != how_.stated.end() && how_.typing != cell_typing::none)
      one.type = {found->second, false, true};
}

/// Gives the cells of rows to `see`, block by block until it is enough, or
/// there are so many bytes.
template <class See, class Enough>
void csv_stream::look_ahead(size_t bytes_max, See see, Enough enough) {
  size_t bytes = 0;
  std::vector<std::string_view> row;
  for (size_t i = 0; bytes < bytes_max && (i < blocks_.size() || more()); ++i) {
    check_stop(how_.stop);
    bytes += blocks_[i].size;
    csv_records ahead(blocks_[i].text(), format_.separator);
    while (ahead.next(row))
      see(row);
    if (enough())
      return;
  }
}

/// By all cells of the first block that has rows; more of them where a column
/// has said nothing by then.
void csv_stream::find_exact() {
  std::vector<common_cell_type> common(format_.columns.size());
  const auto silent = [&] {
    for (size_t i = 0; i < common.size(); ++i)
      if (!format_.columns[i].type.stated && common[i].silent())
        return true;
    return false;
  };
  size_t rows = 0;
  look_ahead(
      bytes_of_silence,
      [&](const std::vector<std::string_view>& row) {
        ++rows;
        for (size_t column = 0; column < common.size() && column < row.size();
             ++column)
          if (!format_.columns[column].type.stated)
            common[column].see(format_.value_of(row[column]));
      },
      [&] { return rows > 0 && !silent(); });
  for (size_t i = 0; i < common.size(); ++i)
    if (!format_.columns[i].type.stated)
      format_.columns[i].type = {common[i].type(), true, false};
  for (size_t i = 0; i < common.size(); ++i)
    if (!format_.columns[i].type.stated && common[i].silent())
      silent_.insert(int(i));
}

/// By the first cell of each that says something.
void csv_stream::find_numeric() {
  std::vector<size_t> silent; // columns, so far
  for (size_t i = 0; i < format_.columns.size(); ++i)
    if (!format_.columns[i].type.stated)
      silent.push_back(i);
  const auto tells = [this](size_t column, std::string_view cell) {
    double ignored = 0;
    const parsed found = parse_number(format_.value_of(cell), ignored);
    format_.columns[column].type.is =
        found == parsed::text ? column_type::text : column_type::float64;
    return found != parsed::empty;
  };
  std::erase_if(silent, [&](size_t i) { return tells(i, first_row_[i]); });
  size_t rows = 0;
  const auto enough = [&] {
    return silent.empty() || rows >= rows_looked_ahead;
  };
  if (!enough())
    look_ahead(
        bytes_looked_ahead,
        [&](const std::vector<std::string_view>& row) {
          if (!enough())
            std::erase_if(silent, [&](size_t column) {
              return column < row.size() && tells(column, row[column]);
            });
          ++rows;
        },
        enough);
  silent_.insert(silent.begin(), silent.end());
}

/// By most cells of the first rows, each of which may be wrong.
void csv_stream::find_common() {
  struct counted {
    common_cell_type numbers;
    size_t number = 0;
    size_t words = 0;
  };
  std::vector<counted> seen(format_.columns.size());
  size_t rows = 0;
  look_ahead(
      bytes_looked_ahead,
      [&](const std::vector<std::string_view>& row) {
        ++rows;
        for (size_t column = 0;
             row.size() == seen.size() && column < seen.size(); ++column) {
          const std::string_view cell = format_.value_of(row[column]);
          const bool word = form_of(cell) == cell_form::word;
          seen[column].number += !word && !cell.empty() ? 1 : 0;
          seen[column].words += word ? 1 : 0;
          if (!word)
            seen[column].numbers.see(cell);
        }
      },
      [&] { return rows >= rows_looked_ahead; });
  for (size_t i = 0; i < seen.size(); ++i) {
    cell_type& type = format_.columns[i].type;
    if (type.stated)
      continue;
    if (seen[i].words + seen[i].number == 0)
      silent_.insert(int(i));
    const bool text = seen[i].words > seen[i].number;
    if (how_.typing == cell_typing::exact)
      type = {text ? column_type::text : seen[i].numbers.type(), true, false};
    else
      type.is = text ? column_type::text : column_type::float64;
  }
}

std::shared_ptr<arrow::Schema> csv_stream::schema() {
  arrow::FieldVector fields;
  for (size_t i = 0; i < format_.columns.size(); ++i)
    fields.push_back(format_.field(int(i)));
  return arrow::schema(std::move(fields));
}

bool csv_stream::read_as(int column, column_type what) {
  cell_type& type = format_.columns.at(size_t(column)).type;
  if (type.stated)
    return type.is == what;
  type.is = what;
  return true;
}

void csv_stream::leave_out(const std::vector<int>& columns, bool all) {
  if (how_.texts == nullptr || how_.tolerant)
    return;
  for (int i : columns)
    if (!format_.columns[size_t(i)].type.stated && !is_silent(i))
      how_.texts->try_emplace(
          format_.columns[size_t(i)].name,
          text_cell{first_row_[size_t(i)], format_.path,
                    row_text(before_.rows + 1, first_line_)});
  for (size_t i = 0; i < format_.columns.size(); ++i)
    if (const auto found = how_.texts->find(format_.columns[i].name);
        found != how_.texts->end())
      format_.watched.emplace_back(i, &found->second);
  if (all)
    check_all_texts();
}

/// There is nothing to train on unless one of them is numeric after all.
void csv_stream::check_all_texts() {
  while (!blocks_.empty() || more()) {
    const std::string_view text = blocks_.front().text();
    csv_cursor rows(format_, text, before_);
    while (rows.next())
      rows.check_texts();
    before_.rows = rows.row();
    before_.lines += uint64_t(std::count(text.begin(), text.end(), '\n'));
    blocks_.pop_front();
  }
}

// -- rows ---------------------------------------------------------------------

void csv_stream::choose(std::vector<int> columns) {
  format_.chosen = std::move(columns);
}

/// The next block, parsed; false at the end.
bool csv_stream::take_block(csv_rows& out) {
  if (blocks_.empty() && !ahead_)
    more();
  if (!ahead_ && !blocks_.empty() && blocks_.front().last) {
    out = parse_block(format_, std::move(blocks_.front())); // all of it
    blocks_.pop_front();
    return true;
  }
  if (!ahead_)
    ahead_.emplace(how_.threads, "bl-csv");
  while (ahead_->under_way() < ahead_->wanted() &&
         (!blocks_.empty() || more())) {
    ahead_->give([this, block = std::move(blocks_.front())]() mutable {
      return parse_block(format_, std::move(block));
    });
    blocks_.pop_front();
  }
  if (ahead_->under_way() == 0)
    return false;
  out = ahead_->take();
  return true;
}

std::shared_ptr<arrow::RecordBatch> csv_stream::next() {
  for (;;) {
    check_stop(how_.stop);
    looked_.reset();
    if (!take_block(rows_))
      return nullptr;
    rows_before_ = before_;
    before_.rows += rows_.rows;
    before_.lines += rows_.lines;
    if (rows_.bad)
      parse_carefully(format_, rows_.from.text(), rows_before_);
    if (rows_.batch)
      return rows_.batch;
  }
}

const csv_stream::looked_at& csv_stream::look() const {
  if (looked_)
    return *looked_;
  looked_at& out = looked_.emplace();
  out.cells.resize(format_.chosen.size());
  csv_cursor rows(format_, rows_.from.text(), rows_before_);
  while (rows.next()) {
    out.lines.push_back(rows.line());
    out.texts.push_back(rows.text());
    for (size_t i = 0; i < format_.chosen.size(); ++i) {
      std::string_view cell = rows.fields()[size_t(format_.chosen[i])];
      if (rows.is_copy(cell))
        cell = out.unescaped.emplace_back(cell);
      out.cells[i].push_back(cell);
    }
  }
  return out;
}

uint64_t csv_stream::line_of(int64_t row) const {
  return look().lines.at(size_t(row));
}

written_row csv_stream::as_written(int64_t row) const {
  written_row out;
  out.text = look().texts.at(size_t(row));
  while (out.text.ends_with('\n') || out.text.ends_with('\r'))
    out.text.pop_back();
  out.lines += uint64_t(std::count(out.text.begin(), out.text.end(), '\n'));
  return out;
}

std::string csv_stream::place_of(int64_t row) const {
  return printable(format_.path) + ": " +
         row_text(rows_before_.rows + uint64_t(row) + 1,
                  look().lines.at(size_t(row)));
}

std::optional<std::string_view> csv_stream::text_of(int chosen,
                                                    int64_t row) const {
  const int column = format_.chosen[size_t(chosen)];
  if (format_.columns[size_t(column)].type.is != column_type::text)
    return format_.value_of(look().cells[size_t(chosen)][size_t(row)]);
  const auto& words =
      static_cast<const arrow::StringArray&>(*rows_.batch->column(chosen));
  return words.IsNull(row) ? std::string_view() : words.GetView(row);
}

} // namespace ballast::data
