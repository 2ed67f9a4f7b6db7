/// The training loop of one worker in one generation: draws, gradient, buckets,
/// trailer, apply, and the evaluation at an epoch's end. worker_core makes all
/// decisions; this file does the work.
///
/// Order inside a step: choice of rows -> trace line -> gradient sum of its own
/// take, buckets leaving as they become final -> statistics -> trailer -> check
/// -> apply. Nothing writes parameters before the host has seen every bucket
/// and the complete trailer.
///
/// Threads: run() is the step thread. post(), abort(), drain() and now(): any.
#pragma once

#include "collectives/collective.hpp"
#include "data/store/chunk_store.hpp"
#include "gpu/bucket_layout.hpp"
#include "gpu/device.hpp"
#include "gpu/finite_check.hpp"
#include "gpu/head_start.hpp"
#include "gpu/important_rows.hpp"
#include "gpu/judged_state.hpp"
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "gpu/prefetcher.hpp"
#include "gpu/reduction/leaf_slots.hpp"
#include "gpu/step_method.hpp"
#include "gpu/step_progress.hpp"
#include "gpu/tensor_digests.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/worker/worker_core.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ballast::gpu {

/// The slice of the state that a rank copies.
struct state_slice {
  uint32_t rank = 0;
  uint32_t world = 1;
};

/// Callbacks to the owner, on the step thread.
struct step_listener {
  /// Of ready (connected, and at the state before the first step), paused,
  /// evaluated, finished and failed; the generation is the owner's to fill in.
  std::function<void(worker_report)> report;
  /// The next generation is in force; `ready` follows.
  std::function<void()> switched;
  /// A plan of the same generation is in force. No later step uses rows of
  /// chunks that it gives to other workers.
  std::function<void(const ledger::plan&)> replanned;
  /// One complete record of the step's samples, before any of its data is sent.
  /// `used`: of these, the ones whose gradient is computed; empty: all. Empty
  /// if the job does not trace.
  std::function<void(const worker::step_order&,
                     const std::vector<uint64_t>& ids,
                     const std::vector<uint64_t>& used)>
      trace;
  /// All ranks are at this step: begin to copy this one's part of the state for
  /// a checkpoint, and return. Empty: no checkpoints.
  std::function<void(step_number, state_slice)> copy;
  /// False: the copy before is still wanted, and one that is due may wait.
  std::function<bool()> may_copy;
  /// The state is about to change: returns when a copy that was begun is
  /// complete.
  std::function<void()> before_change;
  /// A micro-batch did not fit: from now on none has more than so many rows.
  std::function<void(uint32_t rows)> shrunk;
};

class step_executor {
public:
  struct parts {
    const job* what = nullptr;
    const ledger::manifest* set = nullptr;
    data::row_source* rows = nullptr;
    const data::chunk_store* store = nullptr; // for its free space
    gpu::model* model = nullptr;
    gpu::optimizer* optimizer = nullptr;
    arenas memory;
    training_state* state = nullptr;
    bucket_layout layout;
    worker_id self{};
    /// The device of `model`, `optimizer` and `memory`.
    compute_device* device = &cpu_device();
    /// What becomes of rows that are images, on that many threads; null: the
    /// model sees them as they are stored.
    const data::image_augment* images = nullptr;
    size_t image_threads = 1;
    /// Of the reduction canonical: the models beside `model`, and memory.
    std::vector<gpu::model*> leaf_models = {};
    const leaf_memory* leaves = nullptr;

    /// A row as the model sees it.
    const ledger::row_shape& row() const {
      return images != nullptr ? images->seen() : set->row;
    }
  };
  /// A newcomer has no core yet: the received state determines its position.
  /// `first` is the plan of its generation.
  step_executor(parts with, worker::worker_core_config config,
                ledger::plan first, std::optional<worker::worker_core> core,
                step_listener listener);

  /// Trains until the run ends, is stopped, or fails; then reports finished or
  /// failed, once, and returns. Nothing is reported after freeze().
  void run(std::unique_ptr<collectives::collective> group,
           generation_start start);

  /// Takes effect between two steps.
  void post(command_kind kind);
  /// A pending plan whose chunks are all in the store; it names the same
  /// generation, or a later one without this worker.
  void post(ledger::plan pending);
  /// Likewise, with the collective of the generation that it names. Returns the
  /// unused collective of the generation before this one, if any: freeing the
  /// memory of workers that left takes long, and no step should wait for it.
  std::unique_ptr<collectives::collective> post(next_generation next);
  /// Nothing is applied from now on. Waits for an apply in progress, but for
  /// nothing else: a long forward pass continues and its result is dropped.
  held_state freeze();
  /// Leaves every wait as fast as the collective allows; run() then fails.
  void abort(const std::string& reason) noexcept;
  /// Of what run() does no more, or never did: returns when nothing computes.
  void end_ahead() noexcept { ahead_.give_up(); }

  step_progress drain(); // everything since the last call
  /// Adds everything that happened here after the state known to the fence.
  void tell_after(const fence_order& known, final_ack& out) const;
  void recorded(step_number last); // the coordinator has persisted it
  /// The present activity of the step thread; the caller sets worker and
  /// generation.
  heartbeat now() const;

private:
  void watch_peers();
  void bring_to_base(const generation_start& start);
  void receive_position(const generation_start& start);
  void switch_over();
  void receive_last_step(const generation_start& start, bool late);
  /// The rows of the first step are on their way as soon as they are known.
  void draw_first();
  void train(const generation_start& start);
  void take_posts();
  void copy_state(bool known_finite = false);
  /// False if the run was stopped meanwhile.
  bool stand_still();
  worker::step_end do_step(const prefetcher::ready& ready, uint64_t data_ns);
  /// Waits for space on a full disk, up to grace_s; a fence interrupts that.
  void trace(const prefetcher::ready& ready);
  void slow_down(uint64_t computed_ns);
  void exchange(const worker::step_order& of, worker::trailer& sums);
  worker::copy_wish copy_wish() const;
  void evaluate();
  void finish();
  void enter(worker_phase phase);

  parts with_;
  worker::worker_core_config config_;
  ledger::plan first_;
  std::optional<worker::worker_core> core_;
  step_listener listener_;
  prefetcher prefetcher_;
  std::unique_ptr<step_method> method_;
  head_start ahead_;
  std::optional<important_rows> chosen_; // if the job has train.importance
  finite_check finite_;
  judged_state judged_;
  bool drawing_ = false; // the first order was drawn

  std::mutex gate_; // held while parameters change; guards *with_.state, too
  bool frozen_ = false;
  mutable std::mutex mutex_; // guards the members that other threads use
  std::condition_variable posted_;
  std::vector<command_kind> posts_;
  std::optional<ledger::plan> pending_;
  std::optional<next_generation> next_;
  step_progress progress_;
  uint64_t bytes_told_ = 0; // of those that group_ sent
  bool copy_wanted_ = false;
  std::optional<step_number> copied_; // the last one in this generation
  digest_reports digests_;
  std::vector<uint64_t> refused_ids_; // of a step that must not be applied
  std::unique_ptr<collectives::collective> group_;
  /// Of the generation before: slower ranks may still read from it.
  std::unique_ptr<collectives::collective> last_group_;
  bool aborted_ = false;
  std::atomic<uint64_t> step_{0};
  std::atomic<worker_phase> phase_{worker_phase::opening};
};

} // namespace ballast::gpu
