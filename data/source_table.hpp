/// All rows of one source in memory, as its reader made them: the step between
/// files and chunks. Features lie row after row in their stored type, the
/// smallest of uint8, int16, int32 and float32 that holds every value exactly
/// (numbers with more than 24 bits are rounded to float32).
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/placement/joint_bins.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast {

/// More classes than this are a mistake in the label column: every chunk lists
/// its rows per class.
constexpr int64_t classes_max = 65536;
/// Tokens are below this: what a float32 holds exactly.
constexpr int64_t tokens_max = 1 << 24;

struct source_table {
  row_shape row;
  uint64_t rows = 0;
  std::vector<unsigned char> features;
  std::vector<int32_t> labels;      // classes; all 0 where there are none
  std::vector<float> targets;       // regression
  std::vector<int32_t> target_bins; // once they are chosen, or cells are
  std::vector<int32_t> joint_bins;  // likewise, where the job counts by columns
  std::string label;                // name of the label column
  std::vector<std::string> columns; // names of the features, where they have
  /// Columns of the first file that hold no numbers, where the features are
  /// chosen by that.
  std::optional<std::vector<std::string>> left_out;
  /// Those of source_request::kept, in its order.
  std::vector<kept_column> kept;
  /// Files in order, with the number of their first row.
  struct file {
    std::string path;
    uint64_t first_row = 0;
  };
  std::vector<file> files;

  /// What placements go by: the class, bin or cell of each row.
  const std::vector<int32_t>& class_or_bin() const {
    return target_bins.empty() ? labels : target_bins;
  }
  /// What rows are counted by for balance.
  const std::vector<int32_t>& histogram_bin() const {
    return joint_bins.empty() ? class_or_bin() : joint_bins;
  }
};

/// What a row has beside its features; the job's loss says which.
enum class label_kind : uint8_t {
  number_of_class,
  target, // of a regression
  none,   // and the features are tokens
};

/// A column that balance goes by, whether the model sees it or not.
struct column_to_keep {
  std::string name;
  std::string pointer; // of the field that asks for it
};

/// What a reader must know beside the source itself.
struct source_request {
  label_kind label = label_kind::number_of_class;
  uint64_t seed = 0;
  bool test = false; // which of the two, for synthetic rows
  std::string pointer = "/data/train";
  /// The training table, when the test table must look alike.
  const source_table* like = nullptr;
  /// Of tables (csv, parquet) only.
  std::vector<column_to_keep> kept = {};
  /// Ends the reading with ballast_error{stopped}.
  work_watch stop = {};
};

source_table read_idx(const source_spec& spec, const source_request& request);
source_table read_csv(const source_spec& spec, const source_request& request);
source_table read_parquet(const source_spec& spec,
                          const source_request& request);
source_table make_synthetic(const source_spec& spec,
                            const source_request& request);

/// Reads by format, then checks what every source must fulfil: rows, at least
/// two classes in the training set, a test set that looks like it; or two
/// tokens in a row.
source_table read_source(const source_spec& spec,
                         const source_request& request);

/// Why a test set cannot have a label that the training set `like` lacks.
std::string new_class_text(const source_table& like);

/// "FILE: row 12", row counted from 1 within its file.
std::string place_of(const source_table& table, uint64_t row);

/// The values of a column by row: those of a feature as they are stored, before
/// any pipeline step, or the label's. ballast_error{invalid_data} at `pointer`
/// names the columns that there are.
std::vector<double> column_values(const source_table& table,
                                  const std::string& name,
                                  const std::string& pointer);

/// A row's features as they are stored, before any pipeline step.
void row_values(const source_table& table, uint64_t row, std::span<float> out);

/// The stored type that holds both.
std::string wider_type(const std::string& a, const std::string& b);
/// Converts the features to a wider stored type.
void widen(source_table& table, const std::string& stored);
/// Turns float32 features into the smallest exact type, in place.
void narrow(source_table& table);

/// Files that a source reads, in order; empty for synthetic.
std::vector<std::string> files_of(const source_spec& spec,
                                  const std::string& pointer);

} // namespace ballast
