/// All rows of one source, as its reader produced them (of a synthetic one:
/// what makes them): the step between files and chunks. Features are stored row
/// after row in the smallest of uint8, int16, int32 and float32 that holds
/// every value exactly (numbers with more than 24 bits are rounded to float32);
/// in memory, or of a table beyond a limit in a file. In memory is always, for
/// each row, its label or target (4 bytes), its bin or cell (4 more, of a
/// regression and of tokens), a number for each kept column (4), and where a
/// condition took only some rows the row's number (8).
#pragma once

#include "data/base/growing_bytes.hpp"
#include "data/source/row_file.hpp"
#include "data/source/stored_rows.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/placement/joint_bins.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// More classes indicate a wrong label column; every chunk counts its rows by
/// class.
constexpr int64_t classes_max = 65536;
/// Tokens are below this limit, up to which float32 is exact.
constexpr int64_t tokens_max = 1 << 24;

struct source_table {
  ledger::row_shape row;
  uint64_t rows = 0;
  growing_bytes features;
  /// Instead of `features`: makes those of these rows, float32, one row after
  /// another. Any thread.
  std::function<void(std::span<const uint64_t> rows, std::span<float> out)>
      made;
  /// Instead of `features`: they lie here.
  std::shared_ptr<const stored_rows> elsewhere;
  std::vector<int32_t> labels;      // classes; all 0 without labels
  std::vector<float> targets;       // regression
  std::vector<int32_t> target_bins; // set once bins, or cells, are chosen
  std::vector<int32_t> joint_bins;  // likewise, if the job counts by columns
  std::string label;                // name of the label column
  /// Of labels that are text: the name of each class, by its number.
  std::vector<std::string> class_names;
  std::vector<std::string> columns; // names of the features, if they have names
  /// Columns of the first file that hold no numbers, if the features were
  /// chosen by content.
  std::optional<std::vector<std::string>> left_out;
  /// The columns of source_request::kept, in its order.
  std::vector<placement::kept_column> kept;
  /// The files in order, each with the number of its first row in the source.
  struct file {
    std::string path;
    uint64_t first_row = 0;
  };
  std::vector<file> files;
  /// Of a source of which a condition took only some rows: the number of each
  /// in the source, over all its files; of a graph each row's origin. Empty:
  /// all were taken.
  std::vector<uint64_t> taken_rows;
  /// What a user should know of the reading, such as files that were skipped.
  std::vector<std::string> notes = {};

  uint64_t source_row(uint64_t row) const {
    return taken_rows.empty() ? row : taken_rows[row];
  }

  /// Rows so far have the numbers 0, 1, ...: says so, because the next have
  /// not. Of a table that is being read.
  void number_rows();

  /// The class, bin or cell of each row, used by placements.
  const std::vector<int32_t>& class_or_bin() const {
    return target_bins.empty() ? labels : target_bins;
  }
  /// The bin by which balancing counts each row.
  const std::vector<int32_t>& histogram_bin() const {
    return joint_bins.empty() ? class_or_bin() : joint_bins;
  }
};

/// The kind of label, which follows from the job's loss.
enum class label_kind : uint8_t {
  number_of_class,
  target, // of a regression
  none,   // none; the features are tokens
};

/// A column that balancing uses, whether or not the model sees it.
struct column_to_keep {
  std::string name;
  std::string pointer; // of the field that names it
};

/// How much memory the features of a table may take, and where the rest goes.
struct row_room {
  uint64_t bytes = UINT64_MAX;
  std::filesystem::path file = {}; // a new one, which has no name afterwards
  nameless_file::refusal refuse = nullptr;
};

class found_files;
class fitted_states;
class fragment_supply;
class node_cache;
class removed_rows;
class row_faults;

/// The context of a source that its reader needs.
struct source_request {
  label_kind label = label_kind::number_of_class;
  uint64_t seed = 0;
  bool test = false; // for synthetic rows
  std::string pointer = "/data/train";
  /// The training table that a test table must match.
  const source_table* like = nullptr;
  /// For tables (csv, parquet) only.
  std::vector<column_to_keep> kept = {};
  row_room room = {}; // for tables and images only
  /// Ends the reading with ballast_error{stopped}.
  store::work_watch stop = {};
  /// Of a source of the format graph: what it is a part of. Stays as long as
  /// the reading.
  const data_spec* data = nullptr;
  /// For what such a source does not hold in memory; empty: a temporary folder.
  std::filesystem::path spill = {};
  /// Likewise, for the rows of its `cache` nodes; null: nobody keeps them.
  std::shared_ptr<node_cache> nodes = nullptr;
  /// Files that others read (fragment_supply.hpp); null: nobody does.
  fragment_supply* fragments = nullptr;
  /// Of tables and images: rows that cannot be used are left out and told here
  /// (row_faults.hpp), which lives longer; null: the first of them is an error.
  row_faults* faults = nullptr;
  /// Of a graph: where rows are told that its nodes remove, as the job has it
  /// (operators/removed_rows.hpp); lives longer. Null: nobody asks.
  removed_rows* removed = nullptr;
  /// Files of stores that were looked for before; lives longer. May be null.
  found_files* found = nullptr;
  /// Of a graph: what its nodes have learned, shared by the sources of a job;
  /// null: by this source alone.
  std::shared_ptr<fitted_states> fitted = nullptr;
};

source_table read_idx(const source_spec& spec, const source_request& request);
/// Of either format of image files.
source_table read_images(const source_spec& spec,
                         const source_request& request);
source_table make_synthetic(const source_spec& spec,
                            const source_request& request);

/// Reads by format, then checks the rules for all sources: there are rows, at
/// least two classes in the training set, a test set with the same shape; or
/// two tokens in a row.
source_table read_source(const source_spec& spec,
                         const source_request& request);

/// Why a test set must not have a label that the training set `like` lacks.
std::string new_class_text(const source_table& like);

/// For a user of several files, of which so many have no rows.
std::string no_rows_note(size_t files, const std::string& first);

/// "FILE: row 12", row counted from 1 within its file.
std::string place_of(const source_table& table, uint64_t row);

/// The smallest stored type that holds both.
ledger::stored_type wider_type(ledger::stored_type a, ledger::stored_type b);
/// Converts the features to a wider stored type.
void widen(source_table& table, ledger::stored_type stored);
/// Turns float32 features into the smallest exact type, in place.
void narrow(source_table& table);

/// Files that a source reads, in order; empty for synthetic. `data`: that it is
/// a part of. `found`: as in source_request.
std::vector<std::string> files_of(const source_spec& spec,
                                  const std::string& pointer,
                                  const data_spec& data,
                                  found_files* found = nullptr);

} // namespace ballast::data
