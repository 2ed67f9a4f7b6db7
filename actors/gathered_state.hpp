/// The parts of a copied state, from the workers that hold them into the file
/// of a checkpoint: each worker writes its part where it sees the file, else
/// the part is fetched piece by piece.
///
/// Threads: of one owner; works on several of its own. Throws ballast_error
/// that names the worker; disk_full and run_dir_unusable of the file.
#pragma once

#include "actors/gathered_pieces.hpp"
#include "data/model/checkpoint_store.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ballast::actors {

class gathered_state {
public:
  /// Asks all of them what they have; that together it is the state after that
  /// step, or throws.
  gathered_state(step_number after, const std::vector<image_holder>& by_rank,
                 const std::string& token);
  ~gathered_state();

  uint64_t bytes() const;
  /// The checksums that the workers made of what they have.
  std::vector<data::state_part> write(const data::unfinished_state& into);

private:
  struct source;
  void ask(source& from, const std::string& token) const;
  void check() const;
  bool write_there(source& from, const data::unfinished_state& into) const;
  void bring_all(source& from, const data::unfinished_state& into) const;
  void with(const source& from, const std::function<void()>& work) const;

  const step_number after_;
  std::vector<source> sources_; // by rank
};

} // namespace ballast::actors
