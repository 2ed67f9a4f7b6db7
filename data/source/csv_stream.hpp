/// The rows of a CSV file as record batches: a header, then rows of as many
/// cells. A cell that is empty, or one of the texts that mean so, is missing:
/// null. The type of a column is what the job states, or what it is read as;
/// else it comes from its cells, as cell_typing says. A later cell that is not
/// of the type is an error.
///
/// Blocks of the file are parsed ahead by a few threads; batches come in the
/// order of the file and are the same whatever their number. Memory: some
/// blocks of 1 MiB for each thread, or the longest record.
#pragma once

#include "data/base/ordered_work.hpp"
#include "data/source/cell_type.hpp"
#include "data/source/csv_rows.hpp"
#include "data/source/csv_text.hpp"
#include "data/source/record_stream.hpp"
#include "store/work_watch.hpp"

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// Where the types of columns come from that the job does not state.
enum class cell_typing : uint8_t {
  numbers, // float64 if the first cell that is not missing is a number
  exact, // int64, float64 or text, whatever keeps all cells of the first block
  none,  // all are text, stated or not
};

class csv_stream final : public record_stream {
public:
  struct terms {
    std::string pointer; // the job's source, for errors
    store::work_watch stop = {};
    std::vector<std::string> null_values = {}; // beside an empty cell
    /// Of all files of the source, must outlive this; null: no column is left
    /// out by its content.
    text_cells* texts = nullptr;
    cell_typing typing = cell_typing::numbers;
    stated_types stated = {};
    /// Rows that cannot be read become bad_rows(); a column whose type comes
    /// from its cells is what most of them are.
    bool tolerant = false;
    size_t threads = work_threads();
    size_t block_bytes = csv_block_bytes;
  };
  /// `name`: of the file, for messages; `text`: all of it.
  csv_stream(std::string name, text_input text, terms how);

  std::shared_ptr<arrow::Schema> schema() override;
  void choose(std::vector<int> columns) override;
  std::shared_ptr<arrow::RecordBatch> next() override;
  std::string place_of(int64_t row) const override;
  uint64_t line_of(int64_t row) const override;
  written_row as_written(int64_t row) const override;
  const std::vector<bad_row>& bad_rows() const override {
    return rows_.bad_rows;
  }
  bool read_as(int column, column_type what) override;
  bool is_silent(int column) const override { return silent_.contains(column); }
  void leave_out(const std::vector<int>& columns, bool all) override;
  std::optional<std::string_view> text_of(int chosen,
                                          int64_t row) const override;

private:
  /// What is found in a block only if somebody asks.
  struct looked_at {
    std::vector<uint64_t> lines;                      // of the rows
    std::vector<std::string_view> texts;              // of the rows
    std::vector<std::vector<std::string_view>> cells; // by chosen column
    std::deque<std::string> unescaped;
  };
  [[noreturn]] void refuse(const std::string& why) const;
  bool more();
  void read_header();
  void read_first_row();
  void refuse_alike() const;
  void state_types();
  template <class See, class Enough>
  void look_ahead(size_t bytes_max, See see, Enough enough);
  void find_numeric();
  void find_exact();
  void find_common();
  void check_all_texts();
  bool take_block(csv_rows& out);
  const looked_at& look() const;

  const terms how_;
  csv_format format_;
  csv_text text_;
  std::deque<csv_block> blocks_; // read, not yet parsed
  std::vector<std::string> first_row_;
  uint64_t first_line_ = 0;
  std::set<int> silent_; // columns of which no cell tells the type
  csv_place before_;     // of the block that comes next
  // The batch that came last.
  csv_rows rows_;
  csv_place rows_before_;
  mutable std::optional<looked_at> looked_;
  std::optional<ordered_work<csv_rows>> ahead_; // ends first
};

} // namespace ballast::data
