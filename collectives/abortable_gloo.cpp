#include "collectives/abortable_gloo.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ballast::collectives {

using gloo::transport::Pair;
using gloo::transport::UnboundBuffer;

class abortable_gloo::buffer final : public UnboundBuffer {
public:
  buffer(abortable_gloo& owner, std::unique_ptr<UnboundBuffer> inner)
      : UnboundBuffer(inner->ptr, inner->size), owner_(owner),
        inner_(std::move(inner)) {
    std::lock_guard lock(owner_.mutex_);
    owner_.waited_for_.insert(inner_.get());
    if (owner_.aborted_) {
      end_waits(*inner_);
    }
  }
  ~buffer() override {
    std::lock_guard lock(owner_.mutex_);
    owner_.waited_for_.erase(inner_.get());
  }

  /// A wait that begins later ends as well: Gloo remembers the request.
  static void end_waits(UnboundBuffer& waits) {
    waits.abortWaitRecv();
    waits.abortWaitSend();
  }

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override {
    owner_.check();
    // Gloo's collectives ignore this result.
    if (!inner_->waitRecv(rank, timeout)) {
      throw std::runtime_error("a receive was broken off");
    }
    return true;
  }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override {
    owner_.check();
    if (!inner_->waitSend(rank, timeout)) {
      throw std::runtime_error("a send was broken off");
    }
    return true;
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }

  void send(int to, uint64_t slot, size_t offset, size_t bytes) override {
    inner_->send(to, slot, offset, bytes);
  }
  void recv(int from, uint64_t slot, size_t offset, size_t bytes) override {
    inner_->recv(from, slot, offset, bytes);
  }
  void recv(std::vector<int> from, uint64_t slot, size_t offset,
            size_t bytes) override {
    inner_->recv(std::move(from), slot, offset, bytes);
  }

private:
  abortable_gloo& owner_;
  std::unique_ptr<UnboundBuffer> inner_;
};

abortable_gloo::abortable_gloo(std::shared_ptr<gloo::transport::Context> inner)
    : gloo::transport::Context(inner->rank, inner->size),
      inner_(std::move(inner)) {}

std::unique_ptr<Pair>& abortable_gloo::getPair(int rank) {
  return inner_->getPair(rank);
}

std::unique_ptr<Pair>& abortable_gloo::createPair(int rank) {
  return inner_->createPair(rank);
}

std::unique_ptr<UnboundBuffer>
abortable_gloo::createUnboundBuffer(void* ptr, size_t size) {
  check();
  return std::make_unique<buffer>(*this,
                                  inner_->createUnboundBuffer(ptr, size));
}

void abortable_gloo::abort() {
  std::lock_guard lock(mutex_);
  aborted_ = true;
  for (UnboundBuffer* one : waited_for_) {
    buffer::end_waits(*one);
  }
}

void abortable_gloo::check() const {
  std::lock_guard lock(mutex_);
  if (aborted_) {
    throw std::runtime_error("broken off");
  }
}

} // namespace ballast::collectives
