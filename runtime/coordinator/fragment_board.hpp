/// Who reads which file of a source while a set is prepared. Files are wanted
/// in their order, so whoever is free takes the first that nobody has. A value
/// with one owner; pure: the caller passes the time.
///
/// A reader that dies, or says that it does not have the files, gives back what
/// it had. One that just takes long loses nothing: once no file is left to be
/// given, this process reads those again that others have had for too long, and
/// what comes first counts.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/instant.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ballast::coordinator {

/// So long nobody waits for a file that another process has, if there is
/// nothing else to read.
constexpr std::chrono::seconds fragment_patience{10};

/// Whether a worker reads files for the coordinator: on its own machine all
/// cores are busy with that already.
bool reads_fragments(const std::string& boot_of_worker,
                     const std::string& boot_of_coordinator,
                     bool on_this_machine);

class fragment_board {
public:
  /// So many files; a worker has at most `each_max` of them at a time.
  fragment_board(size_t files, size_t each_max)
      : files_(files), each_max_(each_max) {}

  // -- readers ---
  void joined(worker_id who) { others_.try_emplace(who); }
  /// Files that it had, and had not finished, are for others.
  void gone(worker_id who);
  /// The same, and it is asked for none of these files any more. False: nor was
  /// it before.
  bool left_out(worker_id who);

  // -- files ---
  /// The next one for this process to read, which has it from now on.
  std::optional<size_t> take_here(instant now);
  /// Which worker is to get which file now; it has it from now on.
  std::vector<std::pair<worker_id, size_t>> give(instant now);
  /// It is on its way from a worker. False: nobody waits for it, because it is
  /// finished or on its way already.
  bool arriving(size_t file, worker_id from);
  /// It is here, whoever read it. False: it was finished before.
  bool done(size_t file);
  /// It cannot be read apart from the others: whoever joins them looks for the
  /// reason. False as above.
  bool refused(size_t file);

  bool finished(size_t file) const { return at(file).is >= state::done; }
  bool is_done(size_t file) const { return at(file).is == state::done; }
  bool all_finished() const { return finished_ == files_.size(); }
  /// How many files it has, or has read.
  size_t read_by(worker_id who) const;
  size_t size() const { return files_.size(); }

private:
  enum class state : uint8_t { waiting, given, arriving, done, refused };
  struct file {
    state is = state::waiting;
    std::optional<worker_id> who; // of the others
    instant since{};              // it has it
    bool here = false;            // this process reads it, too
  };
  struct other {
    bool asked = true; // for files
    size_t has = 0;
    size_t read = 0;
  };

  const file& at(size_t number) const { return files_.at(number); }
  void take_back(worker_id who);
  void release(file& one);
  bool finish(size_t number, state how);

  std::vector<file> files_;
  size_t each_max_;
  size_t finished_ = 0;
  size_t next_ = 0; // none before it waits
  std::map<worker_id, other> others_;
};

} // namespace ballast::coordinator
