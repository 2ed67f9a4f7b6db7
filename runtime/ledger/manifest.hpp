/// The description of a prepared data set: its shape, its chunks, and which
/// sample is in which row of which chunk. Pure data; the rows themselves are
/// Arrow record batches that `data/` writes, reads and moves. Every run
/// directory holds a copy of the manifest, so that a run can be audited without
/// the data.
#pragma once

#include "runtime/base/words.hpp"
#include "runtime/ledger/sequence.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::ledger {

/// Consecutive numbers: first, first + 1, ..., first + count - 1.
struct id_run {
  uint64_t first = 0;
  uint64_t count = 0;
  friend bool operator==(const id_run&, const id_run&) = default;
};

/// Consecutive rows of a chunk that weigh the same (epoch_uses.hpp).
struct weight_run {
  uint32_t rows = 0;
  double weight = 0; // not negative
  friend bool operator==(const weight_run&, const weight_run&) = default;
};

/// One immutable run of rows. Chunks of the training set are numbered 0, 1, ...
/// in the order of `manifest::train`; chunks of the test set likewise.
struct chunk_info {
  chunk_id id{};
  uint32_t rows = 0;
  /// Size of its columns: features, labels and sample ids.
  uint64_t bytes = 0;
  /// Hash of those bytes (see data/store/chunk.hpp), as 16 hex digits.
  std::string checksum;
  /// Rows per class, or per bin of a regression target.
  std::vector<uint64_t> label_histogram;
  /// sample_id of each row, in row order, as runs. Workers get a manifest
  /// without samples: a chunk brings its own.
  std::vector<id_run> samples;
  /// Lineage: the row number in the source (over all its files, from 0) of each
  /// row, in row order, as runs. With these the chunk can be rebuilt.
  std::vector<id_run> source_rows;
  /// What each row weighs, in row order, as runs; empty: all weigh the same.
  std::vector<weight_run> weights = {};
};

/// How a value lies in a chunk; a wider type holds every value of those before
/// it (float32: of int32 the nearest).
enum class stored_type : uint8_t { uint8, int16, int32, float32 };

/// The order of the rows in each chunk, for epoch_uses.hpp.
enum class row_layout : uint8_t { any, by_class, by_score };

} // namespace ballast::ledger

template <>
inline constexpr auto ballast::words_of<ballast::ledger::stored_type> =
    std::to_array<std::string_view>({"uint8", "int16", "int32", "float32"});
template <>
inline constexpr auto ballast::words_of<ballast::ledger::row_layout> =
    std::to_array<std::string_view>({"any", "class", "score"});

namespace ballast::ledger {

/// The shape of a row as the model sees it.
struct row_shape {
  /// Values in one row, after all pipeline steps.
  uint32_t features = 0;
  /// Shape of those values, e.g. {28, 28} or {1, 28, 28}; product = features.
  std::vector<uint32_t> shape;
  stored_type stored = stored_type::float32;
  /// The model sees stored * scale + offset, in float32.
  double scale = 1;
  double offset = 0;
  /// Number of classes; 0 for a regression target (float32 label). Rows without
  /// a label all have class 0.
  uint32_t classes = 0;
  /// Number of bins by which rows are counted instead of classes: bins of a
  /// target (runtime/placement/target_bins.hpp), cells of rows without a label
  /// (runtime/placement/row_cells.hpp), or joint column values
  /// (runtime/placement/joint_bins.hpp). 0: by class, if there are any.
  uint32_t target_bins = 0;
  /// For rows of tokens, larger than the largest token; 0: rows of other
  /// numbers.
  uint32_t vocabulary = 0;
};

/// Length of a label histogram: the bins that balancing counts, whereas a model
/// uses `classes`.
inline uint32_t histogram_bins(const row_shape& row) {
  return row.target_bins > 0 ? row.target_bins : row.classes;
}

/// Checksums of the two tables of a set of many chunks
/// (data/prepared/set_tables.hpp).
struct set_tables {
  std::string chunks;
  std::string samples;
  uint64_t train_chunks = 0;
  friend bool operator==(const set_tables&, const set_tables&) = default;
};

/// Rows of the sources that a set lacks because something is wrong with them
/// (job field `data.on_error`), or because nodes of the graph remove such rows.
struct rejected_rows {
  uint64_t read = 0; // of the sources, with those that were left out
  uint64_t rows = 0; // left out because something is wrong with them
  uint64_t kept = 0; // of both, in quarantine.jsonl beside the manifest
  /// By the name of the node, each source row once. A row that two of them
  /// remove, as where a source is read twice, counts for both.
  std::map<std::string, uint64_t> removed = {};
  friend bool operator==(const rejected_rows&, const rejected_rows&) = default;
};

/// One prepared data set. Immutable once written.
struct manifest {
  int version = 1;
  /// Hash of all inputs that determine the content: sources, pipeline,
  /// placement.
  std::string content_id;
  std::string label; // name of the label column
  std::vector<std::string> sources;
  /// Columns left out because they hold no numbers, if the features are all
  /// numeric columns; nothing if the job names the features, or there are no
  /// columns.
  std::optional<std::vector<std::string>> left_out;
  /// Of labels that are text: the name of each class, by its number. Empty: the
  /// source has the numbers themselves.
  std::vector<std::string> class_names;
  row_shape row;
  uint64_t train_rows = 0;
  uint64_t test_rows = 0;
  /// Of a graph: test rows that come from a source row of which the training
  /// set has a row, too. Nothing where rows are not traced.
  std::optional<uint64_t> test_rows_trained_on = {};
  /// Nothing: a row with a mistake would have been an error, and no node
  /// removes any.
  std::optional<rejected_rows> rejected = {};
  std::vector<chunk_info> train;
  std::vector<chunk_info> test;
  /// The chunks are in tables beside the JSON, not in it; read from JSON alone,
  /// `train` and `test` are empty.
  std::optional<set_tables> tables = {};
  /// Chunks hold whole groups (job field `balance.group`) and are never cut.
  bool whole_chunks = false;
  row_layout order = row_layout::any; // of the training rows
  /// First placement: the training chunks of each initial worker, in rank
  /// order.
  std::vector<std::vector<chunk_id>> placement;
};

/// What is wrong with the weights of a chunk that somebody wrote, or nothing.
std::optional<std::string> weights_error(const chunk_info& chunk);

/// The sample_id of row `row` of `chunk`. Precondition: row < chunk.rows.
sample_id sample_at(const chunk_info& chunk, uint32_t row);

/// Where to find rows of the training set: "sample 500 (chunk 38 row 6, row 501
/// of train.csv)", source rows from 1. Lists the first few and counts the rest.
std::string describe_rows(const manifest& set,
                          const std::vector<row_ref>& rows);

/// Compresses a list to runs.
std::vector<id_run> compress(const std::vector<uint64_t>& ids);

/// The JSON of everything but the chunks.
nlohmann::json manifest_header(const manifest& in);
/// Throws as from_json does. `train_chunks`: their number, for the placement.
manifest read_manifest_header(const nlohmann::json& in, size_t train_chunks);

/// In JSON, runs are text: "0+256 300 302+3" is 0..255, 300, 302..304;
/// `source_rows` is omitted if it equals `samples`.
void to_json(nlohmann::json& out, const manifest& in);
/// Throws nlohmann::json::exception if the text is not a manifest or
/// contradicts itself (chunk numbers, row counts).
void from_json(const nlohmann::json& in, manifest& out);

} // namespace ballast::ledger
