/// One file of a source as a piece of work that any process can do: what it is
/// known by, and how it is read and kept in the cache. The same on the
/// coordinator and on workers. Any thread.
#pragma once

#include "data/prepared/prepare_cache.hpp"
#include "data/source/fragment_supply.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/fragments.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace ballast::data {

struct fragment_task {
  std::shared_ptr<const job> what;
  std::string pointer; // of the source: "/data/train" or "/data/test"
  stored_file file;
  std::string identity; // of its content, as identity_of() has it
  fragment_choice choice;
};

/// Of this content, whatever its path.
std::string identity_of(const stored_file& file, const std::string& pointer,
                        prepare_cache& cache, const store::work_watch& stop);
/// By all that determines what is read.
std::string key_of(const fragment_task& task);
const source_spec& source_of(const job& what, const std::string& pointer);

/// Reads the file, in memory up to `room_bytes`, and keeps what it gave in the
/// cache. Of a file that changed meanwhile nothing is kept. ballast_error.
void make_fragment(const fragment_task& task, uint64_t room_bytes,
                   prepare_cache& cache, const store::work_watch& stop);

/// What a worker makes of an order, with its cache. It finds the file by
/// itself, and answers `not_here` if it does not have the one that is meant.
/// `found`: the files of stores as this run's orders found them; null: they are
/// looked for with each order.
fragment_ready carry_out(const prepare_fragment& order, uint64_t room_bytes,
                         prepare_cache& cache, const store::work_watch& stop,
                         found_files* found = nullptr);

/// Part of a fragment of this cache, as read_fragment_blob() names it; false:
/// it is not here.
bool read_part(const prepare_cache& cache, const std::string& key, uint64_t at,
               std::string& out);

} // namespace ballast::data
