#include "runtime/ledger/global_order.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/random.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/ledger/keyed_permutation.hpp"
#include "runtime/ledger/permutation.hpp"

#include <algorithm>
#include <utility>

namespace ballast::ledger {

namespace {

uint64_t stream_of(stream_purpose what, epoch_number epoch) {
  return mix(uint64_t(what), value(epoch));
}

} // namespace

std::vector<chunk_id> chunk_turns(uint64_t seed, epoch_number epoch,
                                  size_t chunks, uint32_t window) {
  std::vector<chunk_id> out;
  out.reserve(chunks);
  if (window > 0) {
    for (uint32_t id :
         random_permutation(seed, stream_of(stream_purpose::chunk_turn, epoch),
                            uint32_t(chunks)))
      out.push_back(chunk_id{id});
    return out;
  }
  for (uint32_t id = 0; id < chunks; ++id)
    out.push_back(chunk_id{id});
  return out;
}

global_order::global_order(uint64_t seed, epoch_number epoch,
                           const shared_list<uint32_t>& chunk_rows,
                           uint32_t window,
                           std::shared_ptr<const epoch_uses> uses)
    : seed_(seed), epoch_(epoch), windowed_(window > 0),
      window_(windowed_ ? window : std::max<uint64_t>(1, chunk_rows.size())),
      turns_(chunk_turns(seed, epoch, chunk_rows.size(), window)),
      uses_(std::move(uses)) {
  starts_.reserve(turns_.size() + 1);
  starts_.push_back(0);
  for (chunk_id id : turns_)
    starts_.push_back(starts_.back() + chunk_rows[value(id)]);
}

/// The last that begins there or before, so none without rows.
size_t global_order::turn_of(uint64_t position) const {
  return size_t(std::upper_bound(starts_.begin(), starts_.end(), position) -
                starts_.begin()) -
         1;
}

uint64_t global_order::window_of(uint64_t position) const {
  return position < size() ? turn_of(position) / window_
                           : (turns_.size() + window_ - 1) / window_;
}

void global_order::draw(step_part what, dealt_uses& known,
                        std::vector<row_ref>& out) const {
  BALLAST_CHECK(what.count <= size() && what.first <= size() - what.count,
                "positions lie inside their epoch");
  out.reserve(out.size() + what.count);
  const uint64_t end = what.first + what.count;
  for (uint64_t at = what.first; at < end;) {
    const uint64_t window = window_of(at);
    const uint64_t from = window * window_;
    const uint64_t until = std::min<uint64_t>(from + window_, turns_.size());
    const uint64_t first = starts_[from];
    const keyed_permutation rows(
        seed_, mix(stream_of(stream_purpose::window_rows, epoch_), window),
        starts_[until] - first);
    const auto begin = starts_.begin() + std::ptrdiff_t(from);
    const auto last = starts_.begin() + std::ptrdiff_t(until);
    for (; at < end && at - first < rows.size(); ++at) {
      const uint64_t row = first + rows.at(at - first);
      const auto turn =
          size_t(std::upper_bound(begin, last, row) - starts_.begin()) - 1;
      out.push_back({turns_[turn], row_of(turn, row - starts_[turn], known)});
    }
  }
}

/// Of a place in a chunk.
uint32_t global_order::row_of(size_t turn, uint64_t place,
                              dealt_uses& known) const {
  if (!uses_)
    return uint32_t(place);
  known.by_turn.resize(turns_.size());
  auto& dealt = known.by_turn[turn];
  if (!dealt) {
    // The window before may be asked for once more, by a step that it shares.
    const size_t from = turn / window_ * window_;
    for (; known.from + window_ < from; ++known.from)
      known.by_turn[known.from].reset();
    known.from = std::min(known.from, turn);
    dealt = std::make_shared<const std::vector<uint32_t>>(
        uses_->order(epoch_, turns_[turn]));
  }
  return (*dealt)[place];
}

void global_order::upcoming(uint64_t position,
                            std::vector<chunk_id>& out) const {
  for (size_t turn = size_t(window_of(position) * window_);
       turn < turns_.size(); ++turn)
    if (starts_[turn] < starts_[turn + 1])
      out.push_back(turns_[turn]);
}

} // namespace ballast::ledger
