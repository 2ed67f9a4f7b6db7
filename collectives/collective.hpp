/// The gradient plane: operations that all ranks of one generation perform
/// together.
///
/// A backend creates one collective per generation in two steps: `prepare`
/// opens this rank's end and returns its address (a blob that the control plane
/// carries), `connect` takes every rank's blob and joins them. A failed
/// collective is dead: drop it and join the next generation; never retry.
///
/// Ownership and threads: the step thread calls the operations, in the same
/// order on every rank; any thread may call `abort` at any time. Buffers belong
/// to the caller and must outlive the collective object.
#pragma once

#include "collectives/collective_error.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/leaf_tree.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ballast::collectives {

enum class element_type : uint8_t { float32, float64, bfloat16 };
constexpr size_t size_of(element_type type) {
  return type == element_type::float64   ? 8
         : type == element_type::float32 ? 4
                                         : 2;
}

enum class collective_state : uint8_t {
  opening,
  ready,
  draining, // close() was called, operations in flight may finish
  closed,
  dead,
};

/// The parameters on which every rank must agree before the first operation.
struct collective_options {
  ballast::generation generation{};
  int rank = 0;
  int size = 1;
  /// Hash of the bucket layout and element type; compared in connect.
  uint64_t layout_hash = 0;
  /// Shared secret of the run; frames and handshakes without it are refused.
  std::string token;
  std::string bind_host = "127.0.0.1";
};

/// The abilities of a backend; the conformance suite tests exactly these.
struct collective_capabilities {
  /// abort() of one rank frees every rank within milliseconds. (Every backend
  /// frees the aborted rank itself.)
  bool abortable = false;
  bool sees_peer_death = false;
  int ranks_max = 1024;
  bool float64 = true;
  bool bfloat16 = false;
  bool point_to_point = false;
  bool ordered_sums = false; // sum_in_order()
  bool all_to_all = false;
  /// Detects ranks that call different operations; otherwise the result is
  /// undefined.
  bool checks_calls = false;
  /// Accepts data in GPU memory; otherwise gpu/staged_collective.hpp copies it.
  bool device_memory = false;
};

/// What a rank has of the bytes that others lack.
enum class bytes_here : uint8_t {
  all,
  none,
  unused, // neither has nor needs them: what is in their place may change
};

using deadline = std::chrono::steady_clock::time_point;

class collective {
public:
  virtual ~collective() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual collective_state state() const = 0;

  // -- operations: return when this rank is done, else collective_error ------

  /// data[i] = sum over ranks of data[i], equal bits on every rank.
  virtual void all_reduce(void* data, size_t count, element_type type,
                          deadline until) = 0;
  /// Rank r ends with the sum of slice r in place (slices: see slice_of).
  virtual void reduce_scatter(void* data, size_t count, element_type type,
                              deadline until);
  /// Every rank contributes slice r of its `data` and ends with all slices.
  virtual void all_gather(void* data, size_t count, element_type type,
                          deadline until);
  /// out[i] = the sum of all ranks' parts in the order that `how` says, equal
  /// bits on every rank. `parts`: this rank's, one after another, `stride`
  /// floats apart; `how` is equal on all ranks. `out` is none of the parts. A
  /// backend without `ordered_sums` refuses.
  virtual void sum_in_order(const ledger::fixed_sum& how, const float* parts,
                            size_t stride, float* out, size_t count,
                            deadline until);
  /// Block r of `to` = this rank's block of rank r's `from`; a block has
  /// `bytes` bytes, the same on every rank. The two do not overlap.
  virtual void all_to_all(const void* from, void* to, size_t bytes,
                          deadline until);
  virtual void broadcast(void* data, size_t bytes, int root,
                         deadline until) = 0;
  /// Ranks that lack bytes get them from those who hold them, from all of those
  /// at once where the backend can. `have`: by rank, equal on every rank; the
  /// bytes are equal wherever they are held, and do not change there.
  virtual void fill_lacking(void* data, size_t bytes,
                            std::span<const bytes_here> have, deadline until);
  virtual void send(const void* data, size_t bytes, int to, deadline until);
  virtual void receive(void* data, size_t bytes, int from, deadline until);
  virtual void barrier(deadline until) = 0;

  /// Calls back once when a rank's process is known to be dead, also between
  /// operations: on a thread of the collective, never after its end. A backend
  /// that cannot detect this never calls.
  virtual void on_peer_lost(std::function<void(int rank)> lost);

  // -- end --------------------------------------------------------------------

  /// Ends this rank's operation at once, whatever its peers do, and those of
  /// the others as fast as the backend can. From any thread; idempotent; never
  /// throws.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// Orderly shutdown, when all ranks are alive and nothing is in flight.
  virtual void close(deadline until) = 0;

  /// Bytes sent by this rank so far, for metrics.
  virtual uint64_t bytes_sent() const = 0;
};

/// A half-open collective: this rank listens at `address()`.
class collective_opening {
public:
  virtual ~collective_opening() = default;
  virtual const std::string& address() const = 0;
  /// `addresses` by rank. Blocks until joined or `until`; collective_error.
  virtual std::unique_ptr<collective>
  connect(const std::vector<std::string>& addresses, deadline until) = 0;
  /// This rank's connections without any response, while connect waits for them
  /// and after it gave up. Any thread; empty if a backend cannot tell.
  virtual std::vector<dead_link> silent() const { return {}; }
  /// Makes a blocked connect throw `aborted`. Any thread, idempotent.
  virtual void abort(const std::string& reason) noexcept = 0;
};

/// An implementation of the gradient plane: "local", "gloo", "ring", "nccl".
/// Lives as long as the process.
class collective_backend {
public:
  virtual ~collective_backend() = default;
  virtual std::string name() const = 0;
  virtual collective_capabilities capabilities() const = 0;
  virtual std::unique_ptr<collective_opening>
  prepare(const collective_options& options) = 0;
  /// Zeroed memory for gradient buckets, 64-byte aligned, that may outlive the
  /// backend; its pages come with the first write to them. A backend that
  /// shares memory with its peers allocates it there, so that they add from it
  /// without a copy; buffers of an operation in flight must not be written.
  /// Allocate before `prepare`: peers learn of an arena when they join. Throws
  /// std::bad_alloc.
  virtual std::shared_ptr<float[]> allocate_arena(size_t floats);
};

/// Elements [begin, end) of rank `rank` in reduce_scatter and all_gather.
struct slice {
  size_t begin = 0;
  size_t end = 0;
};
slice slice_of(size_t count, int rank, int size);

} // namespace ballast::collectives
