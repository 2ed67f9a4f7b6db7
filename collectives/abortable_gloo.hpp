/// A Gloo transport context with abortable waits.
///
/// Gloo's collectives wait in unbound buffers, and closing a pair wakes only
/// the buffers of the *peer*: if every rank closes its pairs at once, as after
/// a fence, each of them waits until its timeout. Gloo has abortWaitRecv and
/// abortWaitSend for this, but its collectives do not expose their buffers.
/// This context therefore creates the buffers itself: it wraps and registers
/// each of them, and `abort` makes every wait in all of them throw.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <memory>
#include <mutex>
#include <set>

namespace ballast::collectives {

class abortable_gloo final : public gloo::transport::Context {
public:
  explicit abortable_gloo(std::shared_ptr<gloo::transport::Context> inner);

  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override;
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override;
  std::unique_ptr<gloo::transport::UnboundBuffer>
  createUnboundBuffer(void* ptr, size_t size) override;

  /// Makes every wait, present and future, throw. From any thread.
  void abort();

private:
  class buffer;
  /// Throws after `abort`.
  void check() const;

  std::shared_ptr<gloo::transport::Context> inner_;
  mutable std::mutex mutex_; // guards the next two
  bool aborted_ = false;
  std::set<gloo::transport::UnboundBuffer*> waited_for_;
};

} // namespace ballast::collectives
