/// Device work that is recorded once and enqueued again with a single call (a
/// CUDA graph). Interface only: LibTorch's CUDA headers, and the library that
/// is built with them (gpu/torch_cuda/), stay behind it.
///
/// Thread: the step thread.
#pragma once

#include <functional>
#include <memory>

namespace ballast::gpu {

/// Owns the memory of everything that the pass allocated: tensors it made keep
/// their addresses, and have new values after each replay.
class recorded_pass {
public:
  virtual ~recorded_pass() = default;
  /// Enqueues it in the current stream.
  virtual void replay() = 0;
};

class pass_recorder {
public:
  virtual ~pass_recorder() = default;
  /// Runs `pass` without executing what it enqueues. It must not read device
  /// memory, and must have run before with the same shapes. Throws what it
  /// throws, and c10::Error if it cannot be recorded; nothing is executed then
  /// either. All recordings share memory: only the tensors that outlive a pass
  /// survive the replay of another.
  virtual std::unique_ptr<recorded_pass>
  record(const std::function<void()>& pass) = 0;
};

constexpr const char* pass_recorder_library = "libballast_torch_cuda.so";
constexpr const char* pass_recorder_maker_name = "ballast_make_pass_recorder";
/// For the GPU `device`; after load_torch_cuda. The caller owns it.
using pass_recorder_maker = pass_recorder*(int device);

} // namespace ballast::gpu
