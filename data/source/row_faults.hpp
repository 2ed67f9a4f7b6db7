/// Rows of a job's sources that are left out because something is wrong with
/// them (job field `data.on_error`): how many there are, what a user needs to
/// find and mend each, and when there are too many of them.
///
/// Owned by whoever reads the sources; one thread. ballast_error{invalid_data}
/// at /data/errors_max.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

/// The most that is kept of a value, of the values of a row, and of all rows;
/// the rest is counted.
constexpr size_t fault_value_max = 1024;
constexpr size_t fault_values_max = 64;
constexpr uint64_t faults_kept_max = 100'000;
constexpr size_t faults_bytes_max = size_t{64} << 20;

inline constexpr const char* quarantine_name = "quarantine.jsonl";
/// The step that reads a file; others are nodes of a graph, by name.
inline constexpr const char* reading_step = "read";

using named_value = std::pair<std::string, std::string>;

struct row_fault {
  std::string source; // in the job: "train", "test", or of data.sources
  std::string file;   // of images with the member of an archive
  uint64_t row = 0;   // of the file, from 1; 0: it is an image
  uint64_t line = 0;  // likewise; 0: it has none
  std::string column; // empty: the row as a whole
  std::string step = reading_step;
  std::string reason;
  std::vector<named_value> values; // by column
  /// As it stands in a text file: instead of values of a row that has no cells,
  /// and of JSON; beside them of one that spans several lines.
  std::string text;
  uint64_t lines = 1; // that it spans
};

/// Of quarantine.jsonl, with its end.
std::string quarantine_line(const row_fault& what);

/// All of them together; what a fragment has of its file.
struct faults_found {
  uint64_t rows = 0;
  uint64_t kept = 0;
  std::string lines; // of quarantine.jsonl, one for each that is kept
  std::string last;  // in words
};

class row_faults {
public:
  /// `kept`: the lines, too, not only their number.
  explicit row_faults(double part_max = 1, bool kept = true)
      : part_max_(part_max), is_kept_(kept) {}
  /// As the job says; nothing: the first bad row is an error.
  static std::optional<row_faults> of(const data_spec& data);

  void add(const row_fault& what);
  /// Of a graph, which may come to a row more than once: the first counts.
  void add(uint64_t origin, const row_fault& what);
  /// Those of a file that was read apart, in its turn.
  void add(const faults_found& more);

  /// More rows of a file.
  void read(uint64_t rows) { rows_read_ += rows; }
  /// Source number `source` of a graph was read up to this row, maybe again.
  void read_up_to(size_t source, uint64_t rows);
  /// That there are not too many of them; at the end of a few rows, too.
  void check(bool at_end = false) const;

  bool any() const { return found_.rows > 0; }
  const faults_found& found() const { return found_; }
  ledger::rejected_rows counts() const;

private:
  uint64_t rows_read() const;

  double part_max_;
  bool is_kept_;
  faults_found found_;
  uint64_t rows_read_ = 0;
  std::vector<uint64_t> of_graph_; // rows read, by source
  std::set<uint64_t> origins_;     // of those that are left out
};

/// "3 of 1000 rows were left out, ...": for a user; `where`: the file with
/// them, empty if there is none.
std::string rejected_note(const ledger::rejected_rows& rows,
                          const std::string& where);
bool any_left_out(const ledger::rejected_rows& rows);

/// Lines of quarantine.jsonl with the paths `now` in place of `then`, one for
/// one; unchanged if these are not as many.
std::string with_other_files(const std::string& lines,
                             const std::vector<std::string>& then,
                             const std::vector<std::string>& now);

} // namespace ballast::data
