/// A fragment: what one file of a source gives to a source_table, kept as an
/// Arrow IPC file with a checksum behind it. Whoever joins fragments in the
/// order of their files has the table that one reading gives, to the bit.
///
/// A fragment that was written is owned by nobody: it is complete or absent,
/// any process may read it or remove it. One that is damaged is refused with
/// ballast_error{invalid_data}, and what a disk does not take with that of
/// refuse_write(). A value of one thread.
#pragma once

#include "data/source/row_faults.hpp"
#include "data/source/source_table.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// What a file gave, before it is kept.
struct table_fragment {
  source_table table; // its row numbers count from the file's own first row
  bool int16 = false; // as of a number_range
  bool uint8 = false;
  uint32_t vocabulary = 0;
  uint64_t rows_read = 0; // those that a condition did not take, too
  uint64_t skipped = 0;   // of an archive: members that are no images
  std::string first_skipped;
  faults_found faults; // of rows that were left out
  std::string types;   // row_condition::types_of() the file
};

class fragment_file {
public:
  /// Throws of a write that failed with this errno.
  using refusal = nameless_file::refusal;
  /// Writes what was read to `path`. Not synced: it is not worth waiting for.
  static void write(const std::filesystem::path& path,
                    const table_fragment& from, refusal refuse,
                    const store::work_watch& stop);

  /// Reads all of it once, to check it.
  explicit fragment_file(const std::filesystem::path& path,
                         const store::work_watch& stop = {});
  ~fragment_file();
  fragment_file(const fragment_file&) = delete;
  fragment_file& operator=(const fragment_file&) = delete;

  struct description {
    uint64_t rows = 0;
    uint64_t rows_read = 0;
    uint32_t features = 0;
    ledger::stored_type stored{}; // of the features, every bit of which it has
    bool int16 = false;           // as of a number_range
    bool uint8 = false;
    uint32_t vocabulary = 0;
    uint32_t classes = 0;
    bool targets = false;    // instead of labels
    bool taken = false;      // there are row numbers
    int32_t label_most = -1; // the largest label
    uint64_t skipped = 0;
    std::string first_skipped;
    std::string types; // row_condition::types_of() the file
  };
  const description& about() const { return about_; }
  const faults_found& faults() const { return faults_; }
  /// Of labels that are text, by label.
  const std::vector<std::string>& class_names() const { return class_names_; }
  /// Of each kept column, by cell.
  const std::vector<std::vector<std::string>>& kept_texts() const {
    return kept_texts_;
  }

  /// Some rows in their order.
  struct rows {
    uint64_t count = 0;
    const unsigned char* features = nullptr; // row after row
    std::span<const int32_t> labels;
    std::span<const float> targets;
    std::vector<std::span<const uint32_t>> kept;
    std::span<const uint64_t> taken;
  };
  void each(const std::function<void(const rows&)>& see) const;

private:
  struct reader;
  [[noreturn]] void refuse(const std::string& why) const;
  void check(const store::work_watch& stop);
  void read_about();
  void read_texts();
  rows rows_of(const void* batch) const;

  std::filesystem::path path_;
  std::unique_ptr<reader> reader_;
  uint64_t end_ = 0; // of the Arrow file
  description about_;
  faults_found faults_;
  std::vector<std::string> class_names_;
  std::vector<std::vector<std::string>> kept_texts_;
};

} // namespace ballast::data
