#include "data/store/chunk_store.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
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

  static constexpr uint32_t never = UINT32_MAX;
  struct held_chunk {
    data_part part;
    chunk_id id;
  };
  bool evicts = false;             // expect() was called
  std::vector<uint32_t> turns;     // by number of a training chunk
  std::vector<held_chunk> victims; // by their turns; the last one goes first

  part_of& at(data_part part) { return parts[size_t(part)]; }

  const chunk_ptr* look_up(data_part part, chunk_id id) const {
    const std::vector<chunk_ptr>& chunks = parts[size_t(part)].chunks;
    const size_t index = value(id);
    return index < chunks.size() && chunks[index] ? &chunks[index] : nullptr;
  }

  uint32_t turn_of(data_part part, chunk_id id) const {
    return part == data_part::train && value(id) < turns.size()
               ? turns[value(id)]
               : never;
  }

  /// Of a chunk that is here.
  chunk_ptr take_out(data_part part, chunk_id id) {
    part_of& place = at(part);
    chunk_ptr out = std::exchange(place.chunks[value(id)], nullptr);
    bytes -= out->bytes;
    --place.count;
    return out;
  }

  /// What comes behind the steps is used late: near the end.
  void add_victim(held_chunk what) {
    const uint32_t turn = turn_of(what.part, what.id);
    const auto place =
        std::upper_bound(victims.begin(), victims.end(), turn,
                         [this](uint32_t one, const held_chunk& other) {
                           return one < turn_of(other.part, other.id);
                         });
    victims.insert(place, what);
  }

  /// Until `more` bytes fit, by those that are used later than `than`, or by
  /// any. What is dropped goes to `dropped`.
  void make_room(uint64_t more, std::optional<uint32_t> than,
                 std::vector<chunk_ptr>& dropped) {
    while (bytes + more > limit_bytes && !victims.empty()) {
      const held_chunk last = victims.back();
      if (look_up(last.part, last.id) != nullptr) {
        if (than && turn_of(last.part, last.id) <= *than)
          return;
        dropped.push_back(take_out(last.part, last.id));
      }
      victims.pop_back();
    }
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

size_t chunk_store::find_more(data_part part,
                              std::span<const ledger::row_ref> rows,
                              std::vector<row_place>& out) const {
  size_t missing = 0;
  const std::lock_guard lock(impl_->mutex);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (out[i].in)
      continue;
    if (const chunk_ptr* found = impl_->look_up(part, rows[i].chunk))
      out[i].in = *found;
    else
      ++missing;
  }
  return missing;
}

bool chunk_store::put(data_part part, chunk_ptr what, bool needed_now) {
  (void)fault_point("store.write");
  std::vector<chunk_ptr> gone; // destroyed after the lock is released
  const std::lock_guard lock(impl_->mutex);
  impl::part_of& place = impl_->at(part);
  const size_t index = value(what->id);
  const uint32_t turn = impl_->turn_of(part, what->id);
  const auto bytes_of_old = [&]() -> uint64_t {
    const chunk_ptr* old = impl_->look_up(part, what->id);
    return old != nullptr ? (*old)->bytes : 0;
  };
  if (impl_->evicts && what->bytes > bytes_of_old())
    impl_->make_room(what->bytes - bytes_of_old(),
                     needed_now ? std::nullopt : std::optional(turn), gone);
  if (impl_->bytes - bytes_of_old() + what->bytes > impl_->limit_bytes) {
    if (impl_->evicts && !needed_now)
      return false;
    throw ballast_error(errc::device_failed,
                        "chunk " + to_string(what->id) + " of " +
                            to_string(part) + " (" +
                            std::to_string(what->bytes) +
                            " bytes) does not fit: the store holds " +
                            std::to_string(impl_->bytes) + " of its limit of " +
                            std::to_string(impl_->limit_bytes) +
                            " bytes; use more workers or more memory");
  }
  if (bytes_of_old() > 0)
    gone.push_back(impl_->take_out(part, what->id));
  if (index >= place.chunks.size())
    place.chunks.resize(index + 1);
  ++place.count;
  impl_->bytes += what->bytes;
  if (impl_->evicts)
    impl_->add_victim({part, what->id});
  place.chunks[index] = std::move(what);
  return true;
}

void chunk_store::expect(std::span<const chunk_id> upcoming) {
  const std::lock_guard lock(impl_->mutex);
  impl_->evicts = true;
  impl_->victims.clear();
  std::fill(impl_->turns.begin(), impl_->turns.end(), impl::never);
  for (size_t turn = 0; turn < upcoming.size(); ++turn) {
    const size_t index = value(upcoming[turn]);
    if (index >= impl_->turns.size())
      impl_->turns.resize(index + 1, impl::never);
    impl_->turns[index] = uint32_t(turn);
    if (impl_->look_up(data_part::train, upcoming[turn]) != nullptr)
      impl_->victims.push_back({data_part::train, upcoming[turn]});
  }
  for (data_part part : {data_part::train, data_part::test}) {
    const std::vector<chunk_ptr>& chunks = impl_->at(part).chunks;
    for (size_t i = 0; i < chunks.size(); ++i)
      if (chunks[i] && impl_->turn_of(part, chunks[i]->id) == impl::never)
        impl_->victims.push_back({part, chunks[i]->id});
  }
}

void chunk_store::drop(data_part part, chunk_id id) {
  chunk_ptr dropped;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->look_up(part, id) == nullptr)
    return;
  dropped = impl_->take_out(part, id);
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
