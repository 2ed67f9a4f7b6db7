#include "data/source/jsonl_stream.hpp"

#include "data/base/failing_parts.hpp"
#include "data/source/bad_rows.hpp"
#include "data/source/batch_pieces.hpp"
#include "data/source/json_advice.hpp"
#include "data/source/json_block.hpp"
#include "data/source/json_keys.hpp"
#include "data/source/source_error.hpp"
#include "data/source/text_lines.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>

namespace ballast::data {

namespace {

using batch_pointer = std::shared_ptr<arrow::RecordBatch>;

constexpr size_t json_block_bytes = 1 << 20;
// Values of a batch, missing ones counted: each takes up to 8 bytes and more.
constexpr size_t json_values_max = size_t(piece_bytes_max) / 8;
// For other keys that the first rows lack, behind the first one.
constexpr size_t keys_looked_for_bytes = size_t{64} << 20;
constexpr size_t later_keys_max = 64;

class jsonl_stream : public record_stream {
public:
  jsonl_stream(stream_input input, std::shared_ptr<arrow::Schema> given,
               jsonl_terms how)
      : file_(std::move(input)), lines_(file_, json_line_max),
        given_(given != nullptr),
        how_(std::move(how)), advice_{file_.pointer(), given_} {
    for (const auto& [name, type] : how_.stated)
      stated_.insert(name);
    if (given_)
      use_given(plain_schema(given));
    else
      infer();
    read_ = schema_;
    may_come_ = how_.every_key ? later_keys::none : later_keys::any;
    find_keys();
  }

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }

  void choose(std::vector<int> columns) override {
    columns_ = chosen_columns(schema_->num_fields(), columns);
    chosen_ = true;
    arrow::FieldVector fields;
    for (int column : columns_.to_read())
      fields.push_back(schema_->field(column));
    read_ = arrow::schema(std::move(fields));
    find_keys();
  }

  void leave_out(const std::vector<int>& /*columns*/, bool /*all*/) override {
    if (!how_.tolerant)
      may_come_ = later_keys::numbers;
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    first_row_ += int64_t(block_.rows.size());
    if (first_block_.rows.empty())
      read_block(false);
    else
      block_ = std::exchange(first_block_, {});
    if (block_.rows.empty())
      return nullptr;
    const batch_pointer batch = parse_block();
    if (batch->num_rows() != int64_t(block_.rows.size()))
      throw ballast_error(
          errc::internal,
          file_.name() + ": " + std::to_string(block_.rows.size()) +
              " rows gave " + std::to_string(batch->num_rows()));
    return columns_.pick(batch);
  }

  std::string place_of(int64_t row) const override {
    return file_.name() + ": row " + std::to_string(first_row_ + row + 1) +
           " (line " + std::to_string(block_.rows.at(size_t(row)).line) + ")";
  }

  uint64_t line_of(int64_t row) const override {
    return block_.rows.at(size_t(row)).line;
  }
  written_row as_written(int64_t row) const override {
    const json_block& from = written_.rows.empty() ? block_ : written_;
    return {std::string(from.line_of(from.rows.at(size_t(row))))};
  }
  const std::vector<bad_row>& bad_rows() const override { return block_.bad; }

private:
  other_keys others() const {
    return given_ || chosen_ ? other_keys::are_skipped
                             : other_keys::are_refused;
  }

  void find_keys() {
    json_names within;
    for (const auto& field : read_->fields())
      if (!stated_.contains(field->name()))
        within.insert(field->name());
    keys_ = known_json_keys(*schema_, within);
    if (how_.every_key)
      exact_floats_ = floats_of(*read_, stated_);
  }

  /// The rows of block_.
  batch_pointer parse_block() {
    arrow::Status said;
    batch_pointer out = parsed(block_, said);
    if (out == nullptr && how_.tolerant) {
      blank_bad_rows();
      out = parsed(block_, said);
    }
    if (out == nullptr)
      refuse_row(said, texts_in(*read_, stated_), others());
    out = with_stated(out);
    put_in_order(block_.bad);
    return out;
  }

  batch_pointer parsed(const json_block& of, arrow::Status& said) const {
    return parse_rows(of, *read_, stated_, others(), said);
  }

  void blank_bad_rows() {
    const auto schema = texts_in(*read_, stated_);
    std::vector<size_t> found;
    json_block part;
    arrow::Status said;
    each_failing(
        int64_t(block_.rows.size()),
        [&](int64_t first, int64_t count) {
          part = block_.part(size_t(first), size_t(count));
          constexpr int64_t few = 64; // to look for numbers in texts, too
          return parse_json(part.text, schema, others()).ok() ||
                 (count <= few && parsed(part, said) != nullptr);
        },
        [&](int64_t row) {
          const std::string_view line = part.line_of(part.rows[0]);
          const json_complaint why = advice_.of(line, schema, words_of(said));
          block_.bad.push_back(
              {row, why.column, why.what, as_written(row).text});
          found.push_back(size_t(row));
        });
    block_.blank(found);
  }

  /// Cells become what the job says.
  batch_pointer with_stated(const batch_pointer& rows) {
    arrow::ArrayVector out = rows->columns();
    for (int i = 0; i < rows->num_columns(); ++i) {
      const std::string& name = read_->field(i)->name();
      const auto stated = how_.stated.find(name);
      if (stated == how_.stated.end() || stated->second == column_type::text)
        continue;
      out[size_t(i)] = as_stated(*out[size_t(i)], name, stated->second);
    }
    return arrow::RecordBatch::Make(read_, rows->num_rows(), std::move(out));
  }

  std::shared_ptr<arrow::Array> as_stated(const arrow::Array& texts,
                                          const std::string& name,
                                          column_type what) {
    const cell_type type{what, false, true};
    const auto cells = text_cells_of(texts);
    return array_of_cells(type, cells, [&](size_t row) {
      const std::string why =
          misfit_text(type, cells[row], name, file_.pointer());
      if (!how_.tolerant)
        throw row_error(place_of(int64_t(row)), name, why, file_.pointer(),
                        "it is '" + printable(cells[row], 40) + "'");
      block_.bad.push_back(
          {int64_t(row), name, why, as_written(int64_t(row)).text});
    });
  }

  void use_given(std::shared_ptr<arrow::Schema> given) {
    schema_ = std::move(given);
    columns_ = chosen_columns(schema_->num_fields());
    const auto schema = texts_in(*schema_, stated_);
    for (const std::shared_ptr<arrow::Field>& field : schema->fields())
      if (const auto empty =
              parse_json("{}", arrow::schema({field}), other_keys::are_skipped);
          empty.status().IsNotImplemented())
        file_.refuse("column '" + printable(field->name()) + "': the type " +
                     field->type()->ToString() + " cannot be read from JSON");
  }

  void infer() {
    read_block(true);
    if (block_.rows.empty())
      throw no_rows_error(file_.name() +
                              ": has no rows, so its columns are unknown; "
                              "expected one JSON object in each line",
                          file_.pointer());
    schema_ = infer_block();
    if (how_.every_key)
      keep_digits();
    columns_ = chosen_columns(schema_->num_fields());
    advice_.told_by = block_.rows.size();
    first_block_ = std::exchange(block_, {});
  }

  /// Numbers that float64 would round are text, as they stand there.
  void keep_digits() {
    json_names floats = floats_of(*schema_, stated_);
    json_names rounded;
    for (const json_block::row& row : block_.rows)
      while (const auto found = rounded_in(block_.of(row), floats)) {
        floats.erase(found->first);
        rounded.insert(found->first);
      }
    if (rounded.empty())
      return;
    for (const std::string& name : rounded)
      how_.stated.emplace(name, column_type::text);
    stated_.merge(json_names(rounded));
    schema_ = texts_in(*schema_, rounded);
    block_ = block_.as_texts(rounded);
  }

  /// What the first rows tell, and the job.
  std::shared_ptr<arrow::Schema> infer_block() const {
    constexpr auto infers = other_keys::are_columns;
    auto batch = parse_json(block_.text, nullptr, infers);
    json_names floats;
    if (!batch.ok()) {
      nan_columns with_nan;
      for (const json_block::row& row : block_.rows)
        with_nan.see(block_.of(row));
      floats = with_nan.names();
      const arrow::Status said = batch.status();
      if (!floats.empty())
        batch = parse_json(block_.as_texts(floats).text, nullptr, infers);
      if (!batch.ok() && !how_.tolerant)
        refuse_row(said, nullptr, infers);
    }
    arrow::FieldVector fields;
    std::vector<std::string> names;
    const auto found = with_kinds_of(
        how_.known, without_times(batch.ok() ? *(*batch)->schema()
                                             : *common_schema(block_, floats)));
    for (const auto& field : found->fields()) {
      names.push_back(field->name());
      const auto stated = how_.stated.find(field->name());
      fields.push_back(
          arrow::field(field->name(),
                       stated != how_.stated.end() ? arrow_type(stated->second)
                       : floats.contains(field->name()) ? arrow::float64()
                                                        : field->type()));
    }
    if (at_end_)
      refuse_misnamed(names);
    for (const auto& [name, type] : how_.stated)
      if (std::find(names.begin(), names.end(), name) == names.end())
        fields.push_back(arrow::field(name, arrow_type(type)));
    return arrow::schema(std::move(fields));
  }

  /// Of a file that is known as a whole; another file of the source may have
  /// a key that this one lacks.
  void refuse_misnamed(const std::vector<std::string>& names) const {
    for (const auto& [name, type] : how_.stated)
      if (std::find(names.begin(), names.end(), name) == names.end() &&
          !nearest_word(name, names).empty())
        check_stated({{name, type}}, names, file_.name(), file_.pointer());
  }

  /// The next rows into block_: some 1 MiB of text, and no more rows than their
  /// columns allow.
  void read_block(bool first) {
    block_ = {};
    written_ = {};
    json_column_count seen;
    size_t rows_most = json_values_max;
    if (!first && schema_->num_fields() > 0)
      rows_most = std::max<size_t>(
          1, json_values_max / count_columns(*arrow::struct_(read_->fields())));
    std::string_view line;
    while (block_.text.size() < json_block_bytes &&
           block_.rows.size() < rows_most && !at_end_) {
      if (!lines_.next(line)) {
        at_end_ = true;
        break;
      }
      if (is_blank_line(line))
        continue;
      // Where rows may be left out, their owner is shown what he wrote.
      if (how_.tolerant && (first || !stated_.empty()))
        written_.add(line, lines_.number());
      if (!is_row(line, first))
        block_.add("{}", lines_.number());
      else if (stated_.empty())
        block_.add(line, lines_.number());
      else
        block_.add(with_texts(line, stated_), lines_.number());
      if (!first)
        continue;
      seen.add(line);
      if (seen.count() > json_columns_max)
        file_.refuse("has more than " + std::to_string(json_columns_max) +
                     " columns in its first " +
                     std::to_string(block_.rows.size()) +
                     " rows; are its keys data?");
      rows_most = json_values_max / (seen.count() + 1);
    }
  }

  /// False: it is a bad one, which was noted.
  bool is_row(std::string_view line, bool first) {
    const auto note = [&](const std::string& column, const std::string& why) {
      block_.bad.push_back(
          {int64_t(block_.rows.size()), column, why, std::string(line)});
      return false;
    };
    const json_line_fault fault = check_json_line(line);
    if (!fault.text.empty()) {
      // Of a file that was cut off nobody knows how much is missing.
      if (!how_.tolerant || (fault.unfinished && lines_.open_ended()))
        refuse_line(fault);
      return note({}, fault.text);
    }
    if (!first && may_come_ != later_keys::any)
      if (const auto keys = keys_.unknown_in(line, may_come_); !keys.empty()) {
        if (!how_.tolerant)
          refuse_key(keys[0], std::string(line));
        return note({}, new_key_text(keys[0]));
      }
    if (const auto found = rounded_in(line, exact_floats_)) {
      const std::string why =
          misfit_text({column_type::float64, true}, found->second, found->first,
                      file_.pointer());
      if (!how_.tolerant)
        throw row_error(file_.name() + ": " + place_read(), found->first, why,
                        file_.pointer(),
                        "it is " + printable(found->second, 40));
      return note(found->first, why);
    }
    return true;
  }

  std::string new_key_text(const std::string& key) const {
    return (keys_.has(key) ? "a key within '" : "the key '") + printable(key) +
           "' is new here, " + advice_.those_who_tell() + " not have it";
  }

  /// Of the line that was read last.
  std::string place_read() const {
    return "row " +
           std::to_string(first_row_ + int64_t(block_.rows.size()) + 1) +
           " (line " + std::to_string(lines_.number()) + ")";
  }

  /// And other keys that come later, so that one change of the job does.
  [[noreturn]] void refuse_key(const std::string& key, std::string line) {
    const std::string place = place_read();
    stated_types types;
    size_t bytes = 0;
    do {
      for (const std::string& one : keys_.unknown_in(line, may_come_)) {
        const auto type = keys_.has(one)
                              ? column_type::text
                              : type_in(line, one).value_or(column_type::text);
        const auto [known, fresh] = types.emplace(one, type);
        known->second = fresh ? type : type_for(known->second, type);
      }
      bytes += line.size();
      std::string_view next;
      if (!lines_.next(next))
        break;
      line = next;
    } while (bytes < keys_looked_for_bytes && types.size() < later_keys_max &&
             (is_blank_line(line) || check_json_line(line).text.empty()));
    file_.refuse(place + ": " + new_key_text(key) + "; " +
                 put_columns(types, file_.pointer()));
  }

  /// The line that was read last is no row.
  [[noreturn]] void refuse_line(const json_line_fault& fault) const {
    const std::string place = place_read();
    if (fault.unfinished && lines_.open_ended())
      file_.refuse("is truncated: it breaks off in " + place +
                   "; fetch the file again");
    file_.refuse(place + ": " + fault.text);
  }

  /// Arrow names neither row nor, mostly, column: looks for both.
  [[noreturn]] void refuse_row(const arrow::Status& status,
                               const std::shared_ptr<arrow::Schema>& schema,
                               other_keys others_then) const {
    // The shortest beginning of the block that fails ends with the bad row.
    const auto parses = [&](const json_block::row& last) {
      return parse_json(std::string_view(block_.text).substr(0, last.end),
                        schema, others_then)
          .ok();
    };
    const auto bad =
        std::partition_point(block_.rows.begin(), block_.rows.end(), parses);
    if (bad == block_.rows.end())
      file_.check(status, "cannot be read as JSON lines");
    const arrow::Status said =
        parse_json(std::string_view(block_.text).substr(0, bad->end), schema,
                   others_then)
            .status();
    const std::string place = place_of(bad - block_.rows.begin());
    const std::string words = words_of(said);
    const json_complaint why = advice_.of(block_.of(*bad), schema, words);
    throw row_error(place, why.column, why.what, file_.pointer(), words);
  }

  stream_file file_;
  text_lines lines_;
  const bool given_;
  jsonl_terms how_;
  json_advice advice_;
  json_names stated_;
  json_names exact_floats_; // whose digits are to be kept
  known_json_keys keys_;
  later_keys may_come_ = later_keys::any;
  bool at_end_ = false;
  bool chosen_ = false;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> read_; // of the columns that are read
  chosen_columns columns_{0};
  json_block first_block_; // its types are known, its rows not yet out
  json_block block_;       // the rows that came last
  json_block written_;     // the same as in the file; no rows: block_ is so
  int64_t first_row_ = 0;  // rows before it
};

} // namespace

std::unique_ptr<record_stream>
open_jsonl_stream(stream_input input, std::shared_ptr<arrow::Schema> given,
                  jsonl_terms how) {
  return std::make_unique<jsonl_stream>(std::move(input), std::move(given),
                                        std::move(how));
}

} // namespace ballast::data
