/// What the sources of some outputs were when their reading began, so that a
/// change meanwhile is seen: of a file of this machine its size, time and
/// inode, of one in a store its ETag; of PostgreSQL and of a Flight server, if
/// they are read more than once, the hash of all rows, which takes as long as
/// reading them: one reading of PostgreSQL is one transaction, and one of
/// Flight has no version. One thread. Errors: ballast_error{invalid_data} names
/// the source that changed.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

class found_files;

class source_versions {
public:
  /// `data` stays as long as this.
  /// `found`: what is known of the files of stores; null: they are looked for.
  source_versions(const data_spec& data,
                  const std::vector<std::string>& outputs,
                  const store::work_watch& stop, found_files* found = nullptr);

  void check_unchanged() const;
  /// Names and versions of the files, a line for each; empty: nothing is known.
  std::string text() const;
  /// Does the work, then checks. What is wrong with a file that somebody wrote
  /// to meanwhile is that.
  template <class Work>
  void check_after(Work work) const {
    try {
      work();
    } catch (const ballast_error& error) {
      if (error.what_failed().code == errc::invalid_data)
        check_unchanged();
      throw;
    }
    check_unchanged();
  }

private:
  using file = std::pair<std::string, std::string>; // name, version
  std::vector<file> look(found_files* found) const;
  void look_at_rows(const std::string& name, std::vector<file>& out) const;

  const data_spec& data_;
  std::vector<std::string> sources_; // each once
  std::set<std::string> again_;      // those that are read more than once
  store::work_watch stop_;
  std::vector<file> found_;
};

} // namespace ballast::data
