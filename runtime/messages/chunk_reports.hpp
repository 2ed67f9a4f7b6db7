/// What a worker reports of chunks that it copied for a plan: how much came
/// from whom, how long that took, and what arrived damaged. Plain values.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace ballast {

/// Name of a chunk source that is not a worker.
constexpr const char* origin_name = "origin";

/// A chunk that arrived with another checksum than its own, and from whom.
struct damaged_chunk {
  std::string source; // name of a worker, or "origin"
  chunk_id chunk{};
  auto fields() { return std::tie(source, chunk); }
};
/// No report names more of them than this.
constexpr size_t damaged_told_max = 16;

/// What came from somebody in one request, and how long that took.
struct chunk_request {
  std::string source; // name of a worker, or "origin"
  uint64_t bytes = 0;
  uint64_t ns = 0;
  auto fields() { return std::tie(source, bytes, ns); }
};
/// No report tells of more of them than this: the newest.
constexpr size_t requests_told_max = 64;

/// The answer to a fetch_order.
struct chunks_fetched {
  worker_id worker{};
  ballast::generation generation{};
  plan_number number{};
  uint64_t bytes = 0;
  uint32_t refetched = 0;             // arrived damaged, or its source had gone
  std::vector<damaged_chunk> damaged; // the first ones
  std::vector<chunk_request> requests;
  failure problem; // not all are here
  auto fields() {
    return std::tie(worker, generation, number, bytes, refetched, damaged,
                    requests, problem);
  }
};

} // namespace ballast
