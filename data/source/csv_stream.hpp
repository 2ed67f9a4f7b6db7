/// The rows of a CSV file as record batches: a header, then rows of as many
/// cells. A column is of numbers (float64) if the first of its cells that is
/// not missing is a number, or if it is read as numbers; else of text. A cell
/// that is empty, or one of the texts that mean so, is missing: null.
#pragma once

#include "data/source/csv_records.hpp"
#include "data/source/record_stream.hpp"
#include "store/work_watch.hpp"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// A column with text in the first row of the first file, by name. If any of
/// its cells holds a number, it is numeric and the text cell is the mistake.
struct text_cell {
  std::string text;
  std::string file;
  std::string row;
};
using text_cells = std::map<std::string, text_cell>;

class csv_stream final : public record_stream {
public:
  struct terms {
    std::string pointer; // the job's source, for errors
    store::work_watch stop = {};
    std::vector<std::string> null_values = {}; // beside an empty cell
    /// Of all files of the source, must outlive this; null: no column is left
    /// out by its content.
    text_cells* texts = nullptr;
    bool all_text = false; // no cell is read as a number
  };
  /// `name`: of the file, for messages; `text`: all of it.
  csv_stream(std::string name, std::string text, terms how);

  std::shared_ptr<arrow::Schema> schema() override;
  void choose(std::vector<int> columns) override;
  std::shared_ptr<arrow::RecordBatch> next() override;
  std::string place_of(int64_t row) const override;
  bool read_as(int column, column_content what) override;
  void leave_out(const std::vector<int>& columns, bool all) override;
  std::optional<std::string_view> text_of(int chosen,
                                          int64_t row) const override;

private:
  struct column {
    std::string name;
    bool numeric = false;
  };
  /// Where a row stands.
  struct place {
    uint64_t row = 0;
    uint64_t line = 0;
  };
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_text(size_t column, const text_cell& first) const;
  void read_header();
  bool next_row();
  void check_texts() const;
  std::string here() const;
  std::string at(const std::string& where, size_t column) const;
  std::string not_a_number(const std::string& where, size_t column,
                           const std::string& expected,
                           std::string_view cell) const;
  std::shared_ptr<arrow::Array> numbers(size_t chosen) const;
  std::shared_ptr<arrow::Array> words(size_t chosen) const;

  /// Without blanks around it; empty if it is missing.
  std::string_view value_of(std::string_view cell) const;
  void find_numeric();

  const std::string path_;
  const terms how_;
  const std::string text_;
  csv_records records_;
  std::vector<column> columns_;
  std::vector<std::string_view> fields_; // of the row read last
  std::vector<std::pair<size_t, const text_cell*>> watched_;
  bool has_row_ = false; // fields_ belong to the next batch
  uint64_t row_ = 0;
  std::vector<int> chosen_;
  // The batch that came last: cells by chosen column.
  std::vector<std::vector<std::string_view>> cells_;
  std::vector<place> places_;
  std::deque<std::string> unescaped_; // that cells_ point to
};

} // namespace ballast::data
