#include "collectives/gloo_mesh.hpp"

#include <gloo/transport/pair.h>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace ballast::collectives {

namespace {

using std::chrono::milliseconds;

/// A pair waits five times its timeout for its connection. Large, because
/// break_off() ends the wait at the caller's deadline.
constexpr milliseconds pair_timeout{60'000};
/// A connection that this rank makes is made, or refused, by then.
constexpr milliseconds connect_patience{50};
constexpr size_t left_max = 8;

std::string as_string(const std::vector<char>& bytes) {
  return {bytes.begin(), bytes.end()};
}

} // namespace

gloo_mesh::gloo_mesh(const std::shared_ptr<gloo::transport::Device>& device,
                     int rank, int size)
    : gloo::Context(rank, size), made_(size_t(size)) {
  device_ = device;
  auto inner = device->createContext(rank, size);
  inner->setTimeout(pair_timeout); // each pair copies it
  waits_ = std::make_shared<abortable_gloo>(std::move(inner));
  waits_->setTimeout(pair_timeout);
  transportContext_ = waits_;
  for (int r = 0; r < size; ++r) {
    if (r != rank) {
      auto& pair = transportContext_->createPair(r);
      addresses_.push_back(as_string(pair->address().bytes()));
    } else {
      addresses_.emplace_back();
    }
  }
}

std::string gloo_mesh::payload() const {
  std::string out;
  for (const std::string& address : addresses_) {
    out += static_cast<char>(address.size() >> 8);
    out += static_cast<char>(address.size() & 255);
    out += address;
  }
  return out;
}

std::vector<char> gloo_mesh::address_in(const std::string& payload,
                                        int for_rank) {
  size_t at = 0;
  for (int r = 0;; ++r) {
    if (at + 2 > payload.size()) {
      return {};
    }
    size_t length = static_cast<unsigned char>(payload[at]) * 256u +
                    static_cast<unsigned char>(payload[at + 1]);
    at += 2;
    if (at + length > payload.size()) {
      return {};
    }
    if (r == for_rank) {
      return {payload.begin() + at, payload.begin() + at + length};
    }
    at += length;
  }
}

void gloo_mesh::join(int peer, const std::vector<char>& address) {
  {
    std::lock_guard lock(mutex_);
    if (leaving_) {
      throw std::runtime_error("broken off");
    }
    joining_ = true;
  }
  try {
    transportContext_->getPair(peer)->connect(address);
  } catch (...) {
    end_join(std::nullopt);
    throw;
  }
  end_join(peer);
}

void gloo_mesh::end_join(std::optional<int> made) {
  std::lock_guard lock(mutex_);
  joining_ = false;
  if (made) {
    made_[size_t(*made)] = true;
  }
  join_ended_.notify_all();
}

void gloo_mesh::opened() {
  std::lock_guard lock(mutex_);
  open_ = true;
}

bool gloo_mesh::is_open() const {
  std::lock_guard lock(mutex_);
  return open_;
}

void gloo_mesh::break_off() noexcept {
  waits_->abort();
  std::unique_lock lock(mutex_);
  leaving_ = true;
  join_ended_.wait_for(lock, connect_patience, [this] { return !joining_; });
  const bool all = open_;
  const std::vector<bool> made = made_;
  lock.unlock();
  // Those that this rank waits for must be closed to end the wait.
  for (int r = 0; r < size; ++r) {
    if (r != rank && (all || !made[size_t(r)])) {
      close(r);
    }
  }
}

void gloo_mesh::close(int peer) noexcept {
  try {
    transportContext_->getPair(peer)->close();
  } catch (const std::exception&) { // closed already
  }
}

void left_meshes::add(gloo_mesh_ptr one) {
  std::lock_guard lock(mutex_);
  if (all_.size() == left_max) {
    all_.erase(all_.begin());
  }
  all_.push_back(std::move(one));
}

void left_meshes::clear() {
  std::lock_guard lock(mutex_);
  all_.clear();
}

} // namespace ballast::collectives
