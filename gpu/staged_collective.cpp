#include "gpu/staged_collective.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>

namespace ballast::gpu {
namespace {

class staged_collective final : public collectives::collective {
public:
  staged_collective(std::unique_ptr<collectives::collective> inner,
                    compute_device& device, std::shared_ptr<float[]> mirror,
                    size_t mirror_floats)
      : device_(device), mirror_(std::move(mirror)),
        mirror_floats_(mirror_floats), inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  collectives::collective_state state() const override {
    return inner_->state();
  }

  void all_reduce(void* data, size_t count, collectives::element_type type,
                  collectives::deadline until) override {
    in_mirror(data, count * size_of(type),
              [&](void* at) { inner_->all_reduce(at, count, type, until); });
  }
  void reduce_scatter(void* data, size_t count, collectives::element_type type,
                      collectives::deadline until) override {
    in_mirror(data, count * size_of(type), [&](void* at) {
      inner_->reduce_scatter(at, count, type, until);
    });
  }
  void all_gather(void* data, size_t count, collectives::element_type type,
                  collectives::deadline until) override {
    in_mirror(data, count * size_of(type),
              [&](void* at) { inner_->all_gather(at, count, type, until); });
  }

  // State vectors follow each other at the same offsets of their arenas. They
  // bypass the mirror, which a slower rank may still be reading.
  void broadcast(void* data, size_t bytes, int root,
                 collectives::deadline until) override {
    const bool mine = rank() == root;
    in_room(data, bytes, mine, !mine,
            [&](void* at) { inner_->broadcast(at, bytes, root, until); });
  }
  void fill_lacking(void* data, size_t bytes,
                    std::span<const collectives::bytes_here> have,
                    collectives::deadline until) override {
    using collectives::bytes_here;
    const bytes_here here = have[size_t(rank())];
    in_room(data, bytes, here == bytes_here::all, here == bytes_here::none,
            [&](void* at) { inner_->fill_lacking(at, bytes, have, until); });
  }
  void send(const void* data, size_t bytes, int to,
            collectives::deadline until) override {
    in_room(const_cast<void*>(data), bytes, true, false,
            [&](void* at) { inner_->send(at, bytes, to, until); });
  }
  void receive(void* data, size_t bytes, int from,
               collectives::deadline until) override {
    in_room(data, bytes, false, true,
            [&](void* at) { inner_->receive(at, bytes, from, until); });
  }
  void barrier(collectives::deadline until) override { inner_->barrier(until); }

  void on_peer_lost(std::function<void(int)> lost) override {
    inner_->on_peer_lost(std::move(lost));
  }
  void abort(const std::string& reason) noexcept override {
    inner_->abort(reason);
  }
  void close(collectives::deadline until) override { inner_->close(until); }
  uint64_t bytes_sent() const override { return inner_->bytes_sent(); }

private:
  static size_t floats_in(size_t bytes) {
    BALLAST_CHECK(bytes % sizeof(float) == 0, "an arena holds floats");
    return bytes / sizeof(float);
  }

  template <class Operation>
  void in_mirror(void* data, size_t bytes, Operation operation) {
    const std::optional<size_t> place = device_.place_in_arena(data);
    if (!place || bytes == 0)
      return operation(data);
    const size_t count = floats_in(bytes);
    BALLAST_CHECK(*place + count <= mirror_floats_, "beyond the mirror");
    float* at = mirror_.get() + *place;
    if (size() == 1) // nothing is added: the values stay in place
      return operation(at);
    auto* there = static_cast<float*>(data);
    device_.download(at, there, count);
    operation(at);
    device_.upload(there, at, count);
  }

  template <class Operation>
  void in_room(void* data, size_t bytes, bool from_device, bool to_device,
               Operation operation) {
    if (!device_.place_in_arena(data) || bytes == 0)
      return operation(data);
    const size_t count = floats_in(bytes);
    auto room = std::make_unique_for_overwrite<float[]>(count);
    auto* there = static_cast<float*>(data);
    if (from_device)
      device_.download(room.get(), there, count);
    operation(room.get());
    if (to_device)
      device_.upload(there, room.get(), count);
  }

  compute_device& device_;
  std::shared_ptr<float[]> mirror_;
  size_t mirror_floats_;
  std::unique_ptr<collectives::collective>
      inner_; // destroyed first: peers read the mirror
};

} // namespace

std::unique_ptr<collectives::collective>
make_staged_collective(std::unique_ptr<collectives::collective> inner,
                       compute_device& device, std::shared_ptr<float[]> mirror,
                       size_t mirror_floats) {
  return std::make_unique<staged_collective>(std::move(inner), device,
                                             std::move(mirror), mirror_floats);
}

} // namespace ballast::gpu
