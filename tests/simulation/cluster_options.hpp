/// What a simulated cluster meets, and how its run went. Plain data.
#pragma once

#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/ledger/ledger.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ballast::simulation {

struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct cluster_options {
  uint64_t seed = 1;
  uint32_t workers = 3;
  uint32_t min_workers = 1;
  uint64_t rows = 107;
  uint32_t chunk_rows = 10;
  uint64_t global_batch = 13;
  uint32_t window_chunks = 0; // 0 = none
  uint32_t leaves = 0;        // of a step of order global; 0 = order local
  uint64_t epochs = 3;
  bool compresses = false; // steps leave something out
  /// Epochs are evaluated: the run stops in time, and keeps the best.
  bool judged = false;
  std::optional<uint64_t> evaluate_every = {}; // steps, not each epoch
  /// Rows of a chunk have weights; those of some chunks are all 0.
  bool weighted = false;
  /// What comes of that; made by the cluster.
  std::shared_ptr<const ledger::epoch_uses> uses = nullptr;
  /// Faults happen in the first part of the run only, so that it can end.
  instant faults_until{};
  instant mean_between_faults = std::chrono::milliseconds(400);
  uint64_t checkpoint_every = 10;
  /// Checkpoints go to memory, and to the disk every few seconds.
  bool in_memory = false;
  /// The real balancer wants what it wants, instead of anything at all; the
  /// first chunk has the only rows of a class.
  bool balanced = false;
  /// Devices fall ill and get well again, in every heartbeat by chance.
  bool ill_devices = false;
  /// Users ask for whatever can be asked for, at any moment, also twice.
  bool requests = false;
  /// As `ballast run`: a supervisor starts, watches and ends the workers.
  bool supervised = false;
  uint32_t respawn_limit = 1000;
  /// Some workers die before they say hello.
  bool early_deaths = false;
  /// The coordinator's process stands still, or is busy with its disk.
  bool coordinator_stalls = false;
  /// Links carry nothing for a while, in one direction or in both.
  bool partitions = false;
  /// Some workers cannot reach each other for a while.
  bool apart = false;
  /// Newcomers fail while they load.
  bool sick_joiners = false;
  /// Others knock: of another build, of another run, with odd names.
  bool strangers = false;
  /// The machine of everybody loses its power.
  bool power_cuts = false;
  /// No checkpoint can be written for a while.
  bool full_disk = false;
  /// The coordinator may be away for long.
  bool long_outages = false;
  /// A worker has room for little more than its part of the set.
  bool cramped = false;
  /// Rows come when a step lacks them; there is memory for a few chunks.
  bool on_demand = false;
  /// Runs, one after the other, under one coordinator.
  uint32_t runs = 1;
  /// What is checked, beside all that always is: that nothing is undone which
  /// a living worker holds, and that whoever waits is told why.
  bool nothing_avoidable = true;
  bool told_why = true;
  /// Keeps what happened, for `history`.
  bool record = false;
  bool tell = false; // print what happens as it happens
};

/// How a run went.
struct outcome {
  std::string state; // done, failed, stopped; empty: it did not end in time
  std::string reason;
  uint64_t generations = 0;
  uint64_t kills = 0;
  uint64_t freezes = 0;
  uint64_t excluded = 0;
  uint64_t drains = 0;
  uint64_t joins = 0;        // changes without a fence
  uint64_t crashes = 0;      // of the coordinator
  uint64_t moves = 0;        // plans of the same membership that took effect
  uint64_t ahead = 0;        // owners by them before the bytes were there
  uint64_t undone = 0;       // steps that a run went back
  uint64_t lone_classes = 0; // held by one worker alone in the end
  uint64_t lone_plans = 0;   // that a class of that kind was the cause of
  bool stalled = false;      // plans failed again and again; it waited
  uint64_t ailing = 0;       // devices that were told of
  instant same_since{};      // how long the last owners trained
  uint64_t events = 0;
  uint64_t accepted = 0; // requests
  uint64_t refused = 0;
  uint64_t no_room = 0;   // waits for room
  uint64_t row_waits = 0; // of steps, for a chunk
  uint64_t pauses = 0;    // that came to stand still
  uint64_t stalls = 0;    // of the coordinator
  uint64_t cuts = 0;      // of links
  uint64_t power_cuts = 0;
  uint64_t resumes = 0; // of a run that had stopped or lost its power
  instant took{};       // virtual time
};

/// The rows that one attempt at a step feeds to the gradient, by rank, and what
/// the ranks did with it.
struct attempt {
  ballast::generation generation{};
  plan_number plan{};
  ledger::position at;
  std::vector<std::vector<ledger::row_ref>> rows; // by rank
};

/// What a worker's parameters contain: every applied attempt, in order.
using lineage = std::vector<std::shared_ptr<const attempt>>;

} // namespace ballast::simulation
