/// How many worker processes a run wants, which of them were started and are
/// not here yet, and whether those that die are replaced. In a cluster by hand
/// nothing is started. Begun anew with each run; pure.
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/coordinator/node.hpp"
#include "runtime/job/job.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast::coordinator {

class staffing {
public:
  explicit staffing(bool supervised) : supervised_(supervised) {}
  /// `run` starts the first workers by itself.
  void begin(const elastic_spec& how, const std::map<worker_id, node>& here);
  /// The processes of an earlier life come back by themselves. `asked`: by
  /// `scale`; `began`: a generation was formed in it.
  void take_over(std::optional<uint32_t> asked, bool began);
  /// A user wants so many from now on.
  void scale(uint32_t workers);
  /// The first generation is formed, or another one.
  void formed() { began_ = true; }

  uint32_t wanted() const { return wanted_; }
  /// No more than so many; no limit until a user scales.
  uint32_t most() const { return most_.value_or(UINT32_MAX); }
  /// Of `ready` nodes: so few are too few to begin. A run that has begun goes
  /// on with fewer than it wants.
  size_t needed(size_t ready) const;
  /// Workers that a run waits for at its start.
  uint32_t expected() const { return began_ ? how_.workers : wanted_; }

  /// Names that `run` gives are never given twice.
  void note_name(const std::string& name);
  void joined(const std::string& name);
  void process_ended(const std::string& name) { joined(name); }
  /// Its process may still be there.
  void expel(const std::string& name) { expelled_.insert(name); }
  const std::set<std::string>& expelled() const { return expelled_; }

  /// One died before its first committed step. True: the last one that is
  /// replaced was the one before.
  bool died_early(instant now);
  size_t early_deaths() const { return early_deaths_.size(); }
  bool respawns() const;
  /// So many workers will be on each host soon: those of `run` share one
  /// machine, and those that died come back.
  uint32_t on_each_host() const { return respawns() ? wanted_ : 0; }

  /// The names of workers to start, where `here` are here or may come back.
  /// `waits`: the run waits for workers.
  std::vector<std::string> replace(size_t here, bool waits);

private:
  bool supervised_;
  elastic_spec how_;
  uint32_t wanted_ = 0;
  std::optional<uint32_t> most_;
  uint32_t last_name_ = 0;         // the number in it
  std::set<std::string> starting_; // started, not here yet
  std::set<std::string> expelled_;
  std::vector<instant> early_deaths_;
  bool began_ = false; // a generation was formed
};

} // namespace ballast::coordinator
