#include "data/source/jsonl_stream.hpp"

#include "data/source/batch_pieces.hpp"
#include "data/source/json_lines.hpp"
#include "data/source/source_error.hpp"
#include "data/source/text_lines.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/buffer.h>
#include <arrow/json/options.h>
#include <arrow/json/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>

namespace ballast::data {

namespace {

using arrow::json::UnexpectedFieldBehavior;

constexpr size_t json_block_bytes = 1 << 20;
// Values of a batch, missing ones counted: each takes up to 8 bytes and more.
constexpr size_t json_values_max = size_t(piece_bytes_max) / 8;

size_t columns_of(const arrow::DataType& type) {
  size_t out = 1;
  for (const std::shared_ptr<arrow::Field>& field : type.fields())
    out += columns_of(*field->type());
  return out;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>>
parse_json(std::string_view text, std::shared_ptr<arrow::Schema> schema,
           UnexpectedFieldBehavior others) {
  auto options = arrow::json::ParseOptions::Defaults();
  options.explicit_schema = std::move(schema);
  options.unexpected_field_behavior = others;
  return arrow::json::ParseOne(
      options,
      std::make_shared<arrow::Buffer>(
          reinterpret_cast<const uint8_t*>(text.data()), int64_t(text.size())));
}

/// Some whole lines with their rows.
struct json_block {
  struct row {
    uint64_t line = 0;
    size_t begin = 0;
    size_t end = 0; // behind the line end
  };
  std::string text;
  std::vector<row> rows;

  std::string_view of(const row& one) const {
    return std::string_view(text).substr(one.begin, one.end - one.begin);
  }
};

class jsonl_stream : public record_stream {
public:
  jsonl_stream(stream_input input, std::shared_ptr<arrow::Schema> given)
      : file_(std::move(input)), lines_(file_, json_line_max),
        given_(given != nullptr) {
    if (given_)
      use_given(plain_schema(given));
    else
      infer();
    read_ = schema_;
  }

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }

  void choose(std::vector<int> columns) override {
    columns_ = chosen_columns(schema_->num_fields(), columns);
    chosen_ = true;
    arrow::FieldVector fields;
    for (int column : columns_.to_read())
      fields.push_back(schema_->field(column));
    read_ = arrow::schema(std::move(fields));
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    first_row_ += int64_t(block_.rows.size());
    if (first_block_.rows.empty())
      read_block(false);
    else
      block_ = std::exchange(first_block_, {});
    if (block_.rows.empty())
      return nullptr;
    const arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch =
        parse_json(block_.text, read_, others());
    if (!batch.ok())
      refuse_row(batch.status(), read_, others());
    if ((*batch)->num_rows() != int64_t(block_.rows.size()))
      throw ballast_error(
          errc::internal,
          file_.name() + ": " + std::to_string(block_.rows.size()) +
              " rows gave " + std::to_string((*batch)->num_rows()));
    return columns_.pick(*batch);
  }

  std::string place_of(int64_t row) const override {
    return file_.name() + ": row " + std::to_string(first_row_ + row + 1) +
           " (line " + std::to_string(block_.rows.at(size_t(row)).line) + ")";
  }

private:
  UnexpectedFieldBehavior others() const {
    return given_ || chosen_ ? UnexpectedFieldBehavior::Ignore
                             : UnexpectedFieldBehavior::Error;
  }

  void use_given(std::shared_ptr<arrow::Schema> given) {
    schema_ = std::move(given);
    columns_ = chosen_columns(schema_->num_fields());
    for (const std::shared_ptr<arrow::Field>& field : schema_->fields())
      if (const auto empty = parse_json("{}", arrow::schema({field}),
                                        UnexpectedFieldBehavior::Ignore);
          empty.status().IsNotImplemented())
        file_.refuse("column '" + printable(field->name()) + "': the type " +
                     field->type()->ToString() + " cannot be read from JSON");
  }

  void infer() {
    read_block(true);
    if (block_.rows.empty())
      file_.refuse("has no rows, so its columns are unknown; expected one JSON "
                   "object in each line");
    const arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch =
        parse_json(block_.text, nullptr, UnexpectedFieldBehavior::InferType);
    if (!batch.ok())
      refuse_row(batch.status(), nullptr, UnexpectedFieldBehavior::InferType);
    schema_ = (*batch)->schema()->RemoveMetadata();
    columns_ = chosen_columns(schema_->num_fields());
    told_by_ = block_.rows.size();
    first_block_ = std::exchange(block_, {});
  }

  /// The next rows into block_: some 1 MiB of text, and no more rows than their
  /// columns allow.
  void read_block(bool first) {
    block_ = {};
    json_column_count seen;
    size_t rows_most = json_values_max;
    if (!first && schema_->num_fields() > 0)
      rows_most = std::max<size_t>(
          1, json_values_max / columns_of(*arrow::struct_(read_->fields())));
    std::string_view line;
    while (block_.text.size() < json_block_bytes &&
           block_.rows.size() < rows_most && lines_.next(line)) {
      if (is_blank_line(line))
        continue;
      const json_line_fault fault = check_json_line(line);
      if (!fault.text.empty())
        refuse_line(fault);
      const size_t begin = block_.text.size();
      block_.text.append(line);
      block_.text += '\n';
      block_.rows.push_back({lines_.number(), begin, block_.text.size()});
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

  /// The line that was read last is no row.
  [[noreturn]] void refuse_line(const json_line_fault& fault) const {
    const std::string place =
        "row " + std::to_string(first_row_ + int64_t(block_.rows.size()) + 1) +
        " (line " + std::to_string(lines_.number()) + ")";
    if (fault.unfinished && lines_.open_ended())
      file_.refuse("is truncated: it breaks off in " + place +
                   "; fetch the file again");
    file_.refuse(place + ": " + fault.text);
  }

  /// Arrow names neither row nor, mostly, column: looks for both.
  [[noreturn]] void refuse_row(const arrow::Status& status,
                               const std::shared_ptr<arrow::Schema>& schema,
                               UnexpectedFieldBehavior others_then) const {
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
    throw source_error(place + explain(block_.of(*bad), schema, words),
                       file_.pointer(), words);
  }

  /// ", column 'x': expected int64; ..."
  std::string explain(std::string_view line,
                      const std::shared_ptr<arrow::Schema>& schema,
                      const std::string& words) const {
    if (schema == nullptr ||
        parse_json(line, nullptr, UnexpectedFieldBehavior::InferType)
            .status()
            .IsInvalid())
      return explain_words(words);
    for (const std::shared_ptr<arrow::Field>& field : schema->fields())
      if (!parse_json(line, arrow::schema({field}),
                      UnexpectedFieldBehavior::Ignore)
               .ok())
        return ", column '" + printable(field->name()) + "': expected " +
               field->type()->ToString() +
               (field->nullable() ? "" : ", which may not be missing") +
               remedy();
    return explain_new_key(line, *schema);
  }

  std::string remedy() const {
    return given_ ? "; correct the row"
                  : ", as in the first " + std::to_string(told_by_) +
                        " rows; correct the row, or state the type of the "
                        "column";
  }

  std::string explain_new_key(std::string_view line,
                              const arrow::Schema& schema) const {
    const auto alone =
        parse_json(line, nullptr, UnexpectedFieldBehavior::InferType);
    const std::string rest =
        "is new here, the first " + std::to_string(told_by_) +
        " rows do not have it; choose the columns to read, or state their "
        "types";
    if (alone.ok())
      for (const std::shared_ptr<arrow::Field>& field :
           (*alone)->schema()->fields())
        if (schema.GetFieldIndex(field->name()) < 0)
          return ": the column '" + printable(field->name()) + "' " + rest;
    return ": a key of a nested object " + rest;
  }

  /// Between rows of the first block, or within one that is no JSON.
  static std::string explain_words(const std::string& words) {
    const std::string_view known = "Column(/";
    const size_t column = words.find(known);
    const size_t end = words.find(')', column);
    if (column != std::string::npos && end != std::string::npos) {
      const size_t begin = column + known.size();
      std::string what = words.substr(end + 1);
      what = what.substr(0, what.find(" in row"));
      return ", column '" + words.substr(begin, end - begin) + "':" + what;
    }
    const std::string_view prefix = "JSON parse error: ";
    std::string what =
        words.starts_with(prefix) ? words.substr(prefix.size()) : words;
    what = what.substr(0, what.find(" in row"));
    while (what.ends_with('.'))
      what.pop_back();
    return ": is no valid JSON: " + what;
  }

  stream_file file_;
  text_lines lines_;
  const bool given_;
  bool chosen_ = false;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> read_; // of the columns that are read
  chosen_columns columns_{0};
  json_block first_block_; // its types are known, its rows not yet out
  json_block block_;       // the rows that came last
  size_t told_by_ = 0;     // rows that told the types
  int64_t first_row_ = 0;  // rows before it
};

} // namespace

std::unique_ptr<record_stream>
open_jsonl_stream(stream_input input, std::shared_ptr<arrow::Schema> given) {
  return std::make_unique<jsonl_stream>(std::move(input), std::move(given));
}

} // namespace ballast::data
