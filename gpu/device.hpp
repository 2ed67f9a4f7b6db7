/// Where a worker's tensors live: parameters, gradients and the optimizer's
/// state lie in arenas of one device. Executor, engine and collectives reach
/// that memory through this interface and in no other way; a model gets the
/// addresses and computes there (model_place). On the CPU an arena is plain
/// memory, nothing is copied, and nothing here is called per element.
///
/// Order on a device with streams: what the model enqueues, `clear` and the
/// optimizer's update run in one stream, one after another, so that none waits
/// for another by an event. Two things run beside it: the input of the next
/// step (`bring`, a stream of its own, complete when it returns) and buckets
/// (`mark` is an event in the model's stream; `await` returns when it has
/// happened, so that a collective begins with final gradients whatever stream
/// it works in). A collective's operation has ended, as the host sees it, when
/// it returns: what is enqueued after it needs no event either.
///
/// Threads: the step thread, except where it says otherwise. Errors:
/// ballast_error{device_failed}; the device is then worth nothing any more.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast {

class compute_device {
public:
  virtual ~compute_device() = default;

  /// "cpu", "cuda:0".
  virtual std::string name() const = 0;
  virtual model_place place() const = 0;
  /// Where it is plugged in ("0000:17:00.0"); empty for the CPU.
  virtual std::string bus() const { return {}; }
  /// Host code may follow the addresses of arenas.
  bool is_host() const { return !place().elsewhere; }

  // -- memory -----------------------------------------------------------------

  /// A zeroed arena, 64-byte aligned, that may outlive this object. On the CPU
  /// it is `group`'s: allocate before anything of it is prepared.
  virtual std::shared_ptr<float[]> allocate(size_t floats,
                                            collective_backend& group) = 0;
  /// How many floats `at` lies behind the begin of the arena that holds it;
  /// nothing for the host's memory. Any thread.
  virtual std::optional<size_t> place_in_arena(const void* at) const = 0;
  virtual void clear(float* to, size_t count) = 0;
  /// Complete when they return, and beside what is enqueued: who copies what a
  /// kernel may still be writing calls `await` or `finish` before. Any thread.
  virtual void upload(float* to, const float* from, size_t count) = 0;
  virtual void download(float* to, const float* from, size_t count) = 0;
  /// The same memory of the host, fast to copy from and to as long as what is
  /// returned lives. Any thread.
  virtual std::shared_ptr<float[]> pin(std::shared_ptr<float[]> memory,
                                       size_t floats) = 0;

  // -- update -----------------------------------------------------------------

  /// Its state lies in arenas of this device.
  virtual std::unique_ptr<optimizer>
  make_optimizer(const optimizer_spec& spec, size_t count,
                 collective_backend& group) = 0;

  // -- input ------------------------------------------------------------------

  /// Batches that can be here at a time.
  static constexpr size_t slots = 3;
  /// The same rows with their values on the device, too, until the slot is used
  /// again. Each slot by one thread at a time; on the CPU `rows` itself.
  virtual batch_view bring(size_t slot, const batch_view& rows,
                           uint32_t features) = 0;

  // -- order ------------------------------------------------------------------

  /// What was enqueued up to now makes bucket `i` final.
  virtual void mark(size_t bucket) = 0;
  /// Returns when what `mark` saw is done. Another thread than the step thread.
  virtual void await(size_t bucket) = 0;
  /// Returns when everything enqueued is done.
  virtual void finish() = 0;
};

/// The host itself.
compute_device& cpu_device();

/// An arena's values as host code may read them: themselves, or a copy in
/// `room`, which must live as long.
using host_rooms = std::vector<std::unique_ptr<float[]>>;
std::span<const float> on_host(compute_device& device, const float* values,
                               size_t count, host_rooms& room);

} // namespace ballast
