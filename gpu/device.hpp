/// The device of a worker's tensors: parameters, gradients and the optimizer's
/// state are in arenas of one device. Executor, engine and collectives access
/// that memory only through this interface; a model gets the addresses and
/// computes there (model_place). On the CPU an arena is plain memory, nothing
/// is copied, and nothing here is called per element.
///
/// Order on a device with streams: the model's work, `clear` and the
/// optimizer's update run in one stream, one after another, so they need no
/// events between them. Two activities run in parallel: the input of the next
/// step (`bring`, a stream of its own, complete when it returns) and buckets
/// (`mark` records an event in the model's stream; `await` returns when it has
/// fired, so that a collective starts with final gradients whatever stream it
/// uses). A collective's operation has ended, as seen by the host, when it
/// returns: work enqueued after it needs no event either.
///
/// Threads: the step thread, unless stated otherwise. Errors:
/// ballast_error{device_failed}; the device is unusable afterwards.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/batch_view.hpp"
#include "gpu/model_place.hpp"
#include "gpu/optimizer.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::gpu {

class compute_device {
public:
  virtual ~compute_device() = default;

  /// "cpu", "cuda:0".
  virtual std::string name() const = 0;
  virtual model_place place() const = 0;
  /// The PCI address ("0000:17:00.0"); empty for the CPU.
  virtual std::string bus() const { return {}; }
  /// True if host code may dereference addresses of arenas.
  bool is_host() const { return !place().elsewhere; }

  // -- memory -----------------------------------------------------------------

  /// A zeroed arena, 64-byte aligned, that may outlive this object. On the CPU
  /// `group` allocates it, so call this before the collective is prepared, and
  /// its pages come with the first write (gpu/first_touch.hpp).
  virtual std::shared_ptr<float[]>
  allocate(size_t floats, collectives::collective_backend& group) = 0;
  /// The offset of `at`, in floats, from the begin of the arena that contains
  /// it; nothing for host memory. Any thread.
  virtual std::optional<size_t> place_in_arena(const void* at) const = 0;
  virtual void clear(float* to, size_t count) = 0;
  /// Complete when they return, and unordered with enqueued work: to copy data
  /// that a kernel may still write, call `await` or `finish` before. Any
  /// thread.
  virtual void upload(float* to, const float* from, size_t count) = 0;
  virtual void download(float* to, const float* from, size_t count) = 0;
  /// The same host memory, pinned for fast copies while the result lives. Any
  /// thread.
  virtual std::shared_ptr<float[]> pin(std::shared_ptr<float[]> memory,
                                       size_t floats) = 0;

  /// `make_room` gives back memory that another library only keeps for later.
  /// Called, by any thread, when the device is full, before the next try. Set
  /// before anything is allocated.
  virtual void when_full(std::function<void()> /*make_room*/) {}

  // -- update -----------------------------------------------------------------

  /// Its state is in arenas of this device.
  virtual std::unique_ptr<optimizer>
  make_optimizer(const optimizer_spec& spec, size_t count,
                 collectives::collective_backend& group) = 0;

  // -- input ------------------------------------------------------------------

  /// The number of batches that can be on the device at a time.
  static constexpr size_t slots = 3;
  /// The same rows with their values also on the device, until the slot is used
  /// again. Each slot by one thread at a time; on the CPU `rows` itself.
  virtual batch_view bring(size_t slot, const batch_view& rows,
                           uint32_t features) = 0;

  // -- order ------------------------------------------------------------------

  /// Bucket `i` is final once all work enqueued so far is done.
  virtual void mark(size_t bucket) = 0;
  /// Returns when the work before `mark` is done. Called by other threads than
  /// the step thread.
  virtual void await(size_t bucket) = 0;
  /// Returns when all enqueued work is done.
  virtual void finish() = 0;
};

/// The host CPU.
compute_device& cpu_device();

/// An arena's values for host code: the arena itself, or a copy in `room`,
/// which must live as long.
using host_rooms = std::vector<std::unique_ptr<float[]>>;
std::span<const float> on_host(compute_device& device, const float* values,
                               size_t count, host_rooms& room);

} // namespace ballast::gpu
