#include "data/chunk_store.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

namespace ballast::data {

struct chunk_store::impl {
  explicit impl(uint64_t limit) : limit_bytes(limit) {}

  // Chunk numbers are dense, so a vector indexed by number is the fastest map.
  struct part_of {
    std::vector<chunk_ptr> chunks;
    size_t count = 0;
  };

  uint64_t limit_bytes;
  mutable std::mutex mutex;
  std::array<part_of, 2> parts;
  uint64_t bytes = 0;

  part_of& at(data_part part) { return parts[size_t(part)]; }

  const chunk_ptr* look_up(data_part part, chunk_id id) const {
    const std::vector<chunk_ptr>& chunks = parts[size_t(part)].chunks;
    const size_t index = value(id);
    return index < chunks.size() && chunks[index] ? &chunks[index] : nullptr;
  }
};

chunk_store::chunk_store(uint64_t limit_bytes)
    : impl_(std::make_unique<impl>(limit_bytes)) {}

chunk_store::~chunk_store() = default;

chunk_ptr chunk_store::find(data_part part, chunk_id id) const {
  const std::lock_guard lock(impl_->mutex);
  const chunk_ptr* found = impl_->look_up(part, id);
  return found != nullptr ? *found : nullptr;
}

std::vector<bool> chunk_store::held(data_part part, size_t count) const {
  std::vector<bool> out(count);
  const std::lock_guard lock(impl_->mutex);
  const std::vector<chunk_ptr>& chunks = impl_->parts[size_t(part)].chunks;
  for (size_t i = 0; i < std::min(count, chunks.size()); ++i)
    out[i] = chunks[i] != nullptr;
  return out;
}

size_t chunk_store::find_all(data_part part,
                             std::span<const ledger::row_ref> rows,
                             std::vector<row_place>& out) const {
  out.resize(rows.size());
  size_t missing = 0;
  const std::lock_guard lock(impl_->mutex);
  for (size_t i = 0; i < rows.size(); ++i) {
    const chunk_ptr* found = impl_->look_up(part, rows[i].chunk);
    out[i] = {found != nullptr ? *found : nullptr, rows[i].row};
    missing += found == nullptr;
  }
  return missing;
}

void chunk_store::put(data_part part, chunk_ptr what) {
  (void)fault_point("store.write");
  chunk_ptr replaced; // destroyed after the lock is released
  const std::lock_guard lock(impl_->mutex);
  impl::part_of& place = impl_->at(part);
  const size_t index = value(what->id);
  const chunk_ptr* old = impl_->look_up(part, what->id);
  const uint64_t after =
      impl_->bytes - (old != nullptr ? (*old)->bytes : 0) + what->bytes;
  if (after > impl_->limit_bytes)
    throw ballast_error(errc::device_failed,
                        "chunk " + to_string(what->id) + " of " +
                            to_string(part) + " (" +
                            std::to_string(what->bytes) +
                            " bytes) does not fit: the store holds " +
                            std::to_string(impl_->bytes) + " of its limit of " +
                            std::to_string(impl_->limit_bytes) +
                            " bytes; use more workers or more memory");
  if (index >= place.chunks.size())
    place.chunks.resize(index + 1);
  place.count += old == nullptr;
  impl_->bytes = after;
  replaced = std::exchange(place.chunks[index], std::move(what));
}

void chunk_store::drop(data_part part, chunk_id id) {
  chunk_ptr dropped;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->look_up(part, id) == nullptr)
    return;
  impl::part_of& place = impl_->at(part);
  dropped = std::exchange(place.chunks[value(id)], nullptr);
  impl_->bytes -= dropped->bytes;
  --place.count;
}

size_t chunk_store::keep_only(data_part part, const std::vector<bool>& kept) {
  std::vector<chunk_ptr> dropped; // destroyed after the lock is released
  const std::lock_guard lock(impl_->mutex);
  impl::part_of& place = impl_->at(part);
  for (size_t i = 0; i < place.chunks.size(); ++i)
    if (place.chunks[i] && (i >= kept.size() || !kept[i])) {
      impl_->bytes -= place.chunks[i]->bytes;
      --place.count;
      dropped.push_back(std::move(place.chunks[i]));
      place.chunks[i] = nullptr;
    }
  return dropped.size();
}

uint64_t chunk_store::bytes() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->bytes;
}

void chunk_store::set_limit(uint64_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  impl_->limit_bytes = bytes;
}

uint64_t chunk_store::limit_bytes() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->limit_bytes;
}

size_t chunk_store::count(data_part part) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->at(part).count;
}

} // namespace ballast::data
