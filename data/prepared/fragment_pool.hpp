/// Reads the files of a job's sources apart from each other, on threads of this
/// process and with the help of others, and keeps each as a fragment in the
/// cache: a process that dies loses only those that it was reading. Who reads
/// what is decided by runtime/coordinator/fragment_board.hpp.
///
/// Owned by the thread that prepares a set, for as long as it does.
#pragma once

#include "data/prepared/fragment_terms.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/source/fragment_supply.hpp"
#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class fragment_pool {
public:
  /// All of them live longer than this. The rows of a file take a part of
  /// `memory`; the rest of them goes to the disk of the cache.
  fragment_pool(const job& what, prepare_cache& cache, fragment_terms how,
                uint64_t memory, store::work_watch stop);
  ~fragment_pool();
  fragment_pool(const fragment_pool&) = delete;
  fragment_pool& operator=(const fragment_pool&) = delete;

  /// For this source ("/data/train"); null if its files cannot be read apart.
  std::unique_ptr<fragment_supply> of(const std::string& pointer);
  /// What was kept is needed no more.
  void set_is_made();

private:
  class reading;

  const std::shared_ptr<const job> what_;
  prepare_cache& cache_;
  const fragment_terms how_;
  const uint64_t memory_;
  const store::work_watch stop_;
  std::shared_ptr<store::file_lock> in_use_; // once there are any
  std::vector<std::string> keys_;
};

} // namespace ballast::data
