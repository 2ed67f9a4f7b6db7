/// What a run keeps of the set that it trains on, so that it can be audited and
/// gone on with: manifest.json, and the tables of a large one (data/
/// set_tables.hpp), which are copied while the run goes on. Owned by
/// run_record; one thread at a time.
#pragma once

#include "actors/run_notices.hpp"
#include "actors/table_copy.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/run_directory.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ballast::actors {

struct set_prepared; // actors/local_protocol.hpp

class run_set {
public:
  run_set(const store::run_directory& directory, const run_notices& notices)
      : directory_(directory), notices_(notices) {}

  /// The run begins with this set: writes its manifest. Returns its digest.
  std::string begin(const set_prepared& made);
  /// It goes on: throws run_dir_unusable unless the run began with a manifest
  /// of this digest. Makes a damaged one again.
  void check(const set_prepared& made, const std::string& digest);
  /// Rows that were left out are listed in the run's folder, too, and said.
  void keep_rejected(const set_prepared& made);
  /// Nothing: none may be left out.
  const std::optional<ledger::rejected_rows>& rejected() const {
    return rejected_;
  }
  /// What was learned of the training rows is kept beside the model, which
  /// needs it for rows of others.
  void keep_preprocessing(const set_prepared& made);
  void copy_tables(const set_prepared& made);
  /// Waits for the tables. Without them the audit says what is missing. Throws
  /// disk_full.
  void complete_tables();
  /// Names rows of the training set as their owner knows them.
  std::string describe(const std::vector<ledger::row_ref>& rows) const;

private:
  const store::run_directory& directory_;
  const run_notices& notices_;
  std::optional<ledger::rejected_rows> rejected_;
  mutable table_copy tables_; // ends before the folder is given back
};

} // namespace ballast::actors
