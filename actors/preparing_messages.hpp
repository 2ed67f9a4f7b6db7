/// What the coordinator tells the shard manager, in the same process, so that
/// the data of a job are prepared, and its answer: a part of
/// local_protocol.hpp.
#pragma once

#include "actors/protocol.hpp"
#include "actors/served_parent.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/work_watch.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace ballast::actors {

/// Read, place, chunk and serve the data of a job.
struct prepare_set {
  job what;
  std::string token; // that those who fetch chunks must know
  std::shared_ptr<store::work_seen> seen = nullptr; // null: nobody looks
  ballast::term term = {};    // of orders to workers that help
  parent_weights parent = {}; // what the run begins with; no file: its seed
};
struct set_prepared {
  set_summary set;
  std::string manifest;         // JSON
  std::filesystem::path tables; // where those are that it names
  /// Of rows that were left out, if the job allows it; where they are listed,
  /// or empty.
  std::optional<ledger::rejected_rows> rejected = {};
  std::filesystem::path quarantine = {};
  /// What was learned of the training rows; empty: nothing was.
  std::filesystem::path preprocessing = {};
};

/// A worker that reads files of the sources if it is asked to. Without a
/// handle: no more.
struct fragment_helper {
  worker_id who{};
  std::string name = {};
  gpu_worker_actor handle = {};
};

} // namespace ballast::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::prepare_set)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::set_prepared)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::fragment_helper)
