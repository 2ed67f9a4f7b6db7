/// All that a worker process holds of one run: chunks and their service, model,
/// optimizer, collective, step executor. Owned by the engine, which guards what
/// several threads touch; freed as a whole. What takes time lies here as plain
/// functions, each called on one of the engine's threads.
#pragma once

#include "actors/chunk_release.hpp"
#include "data/chunk_service.hpp"
#include "gpu/device.hpp"
#include "gpu/step_executor.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/messages.hpp"
#include "store/line_file.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ballast {

/// Writes what a worker feeds to the gradient, one line a step.
class trace_writer {
public:
  /// Opens the file, or later, if the disk has no room for it now.
  explicit trace_writer(std::filesystem::path path);
  void write(const step_order& order, const std::vector<uint64_t>& ids);

private:
  std::filesystem::path path_;
  std::optional<line_file> file_;
  std::string line_;
};

/// How much of a share has arrived; the heartbeat asks for it.
class bytes_coming {
public:
  void begin(uint64_t share) {
    arrived_ = 0;
    share_ = share;
  }
  void arrived(uint64_t bytes) { arrived_ += bytes; }
  void end() { share_ = 0; }
  /// Share and what of it is here: less, as long as it is not over.
  std::pair<uint64_t, uint64_t> now() const {
    const uint64_t share = share_;
    return {share, share == 0 ? 0 : std::min<uint64_t>(arrived_, share - 1)};
  }

private:
  std::atomic<uint64_t> share_{0};
  std::atomic<uint64_t> arrived_{0};
};

struct run_parts {
  /// Where it computes; outlives the run.
  compute_device* device = &cpu_device();
  assignment order;
  job what;
  manifest set;
  std::unique_ptr<chunk_client> origin;
  std::string origin_address; // a restarted coordinator serves at another one
  std::unique_ptr<chunk_store> store;
  chunk_release release;
  bytes_coming coming;
  std::unique_ptr<chunk_service> service;
  /// A fault on purpose: so many more chunks are served damaged.
  std::atomic<uint64_t> damage_next{0};
  std::unique_ptr<model> network;
  std::unique_ptr<optimizer> update;
  /// The ring, or what the job names; and NCCL, once a generation of a job
  /// that says "auto" is to use it.
  std::unique_ptr<collective_backend> backend;
  std::unique_ptr<collective_backend> nccl;
  std::unique_ptr<collective_opening> opening;
  std::unique_ptr<trace_writer> trace;
  arenas memory;
  /// Of the host, for collectives that do not reach into the device.
  std::shared_ptr<float[]> mirror;
  bucket_layout layout;
  std::unique_ptr<step_executor> executor;
  training_state state;
  /// The next generation, opened beside the present one.
  std::optional<assignment> next_order;
  std::unique_ptr<collective_opening> next_opening;
  /// The newest copy of the state, for a checkpoint; its bytes are fetched.
  struct state_copy {
    step_number step{};
    std::shared_ptr<const std::string> bytes;
  };
  std::mutex copy_lock;
  state_copy copy;
};

/// Connects to the origin, fetches manifest and chunks, builds the model, and
/// serves both from now on. `store_limit_bytes` 0 = what the order says, or
/// four fifths of the free memory. The step whose state it then holds: 0, or
/// that of the checkpoint to begin with. Throws ballast_error.
step_number load_run(run_parts& parts, const std::string& bind_host,
                     uint64_t store_limit_bytes,
                     const std::function<bool()>& given_up);
/// Parameters, optimizer state and buffers after a step, as a safetensors file.
std::string state_bytes(run_parts& parts, step_number after);
/// Takes over the checkpoint that the origin serves; its step. Throws
/// invalid_data where it does not fit the model.
step_number load_checkpoint(run_parts& parts);
/// What `order`'s plan gives this worker and is not here yet; as long as
/// something arrives and it is not `given_up`.
void fetch_chunks(run_parts& parts, const assignment& order,
                  const std::function<bool()>& given_up);
/// These steps were applied: forgets what nobody needs here any more. Before
/// anybody else can know of them, and send more.
void release_chunks(run_parts& parts, const std::vector<step_record>& steps);
/// A collective that listens, for the generation of `order`.
std::unique_ptr<collective_opening>
open_collective(run_parts& parts, const assignment& order,
                const std::string& bind_host);
/// All ranks joined, for tensors that live where this worker computes.
std::unique_ptr<collective>
connect_collective(run_parts& parts, const assignment& order,
                   collective_opening& opening,
                   const std::vector<std::string>& addresses);
/// Writes what every step is fed, if the job asks for it. Throws not_in_build
/// where the run directory cannot be reached from here.
void trace_steps(run_parts& parts, step_listener& steps);

} // namespace ballast
