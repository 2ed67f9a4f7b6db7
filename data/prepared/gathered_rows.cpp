#include "data/prepared/gathered_rows.hpp"

#include "data/base/ordered_work.hpp"
#include "data/base/stored_values.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace ballast::data {

namespace {

/// What a disk reads in the time of a seek, so that a gap of this size is
/// rather read than left out.
constexpr uint64_t gap_bytes = 256 << 10;
constexpr uint64_t read_bytes = 1 << 20;
constexpr uint64_t bucket_buffer_most = 1 << 20;
constexpr uint64_t bucket_buffer_least = 16 << 10;
/// Of a row while it is loaded: its place, its position, and its rank.
constexpr uint64_t place_bytes = 20;
/// Rows that are asked for before they are copied.
constexpr size_t rows_ahead = 16;

void prefetch(const unsigned char* at, size_t bytes) {
  constexpr size_t line = 64;
  constexpr size_t most = 4 * line; // the hardware goes on from there
  for (size_t i = 0; i < std::min(bytes, most); i += line)
    __builtin_prefetch(at + i);
}

} // namespace

gathered_rows::gathered_rows(const part_rows& part,
                             const ledger::row_shape& row,
                             const chunk_list& chunks, size_t in_batch,
                             const write_options& how)
    : part_(part), chunks_(chunks), how_(how), row_bytes_(row_bytes(row)),
      from_(row.stored), to_(row.stored) {
  if (part.table->elsewhere == nullptr)
    return;
  from_ = part.table->elsewhere->stored();
  stored_bytes_ = row.features * stored_bytes(from_);
  const bool all_fit = part.table->rows * stored_bytes_ <= how.memory;
  // A half, because chunks are made of them meanwhile.
  make_groups(all_fit ? UINT64_MAX
                      : std::clamp<uint64_t>(how.memory / 2 /
                                                 (stored_bytes_ + place_bytes),
                                             1, UINT32_MAX),
              in_batch);
  if (buckets_are_cheaper())
    fill_buckets();
}

uint64_t gathered_rows::place_of(uint64_t sample) const {
  return part_.table->elsewhere->place_of(part_.rows[sample]);
}

void gathered_rows::add(size_t chunk, group& to) const {
  to.rows += chunks_[chunk].size();
  for (uint64_t sample : chunks_[chunk]) {
    const uint64_t place = place_of(sample);
    to.least = std::min(to.least, place);
    to.most = std::max(to.most, place);
  }
}

void gathered_rows::make_groups(uint64_t rows_max, size_t in_batch) {
  for (size_t begin = 0; begin < chunks_.size(); begin += in_batch) {
    const size_t end = std::min(begin + in_batch, chunks_.size());
    uint64_t rows = 0;
    for (size_t chunk = begin; chunk < end; ++chunk)
      rows += chunks_[chunk].size();
    if (groups_.empty() || groups_.back().rows + rows > rows_max)
      groups_.push_back({begin, begin});
    for (size_t chunk = begin; chunk < end; ++chunk)
      add(chunk, groups_.back());
    groups_.back().end = end;
  }
}

/// So that its rows need no ranks: what lies between them is loaded, too.
bool gathered_rows::takes_all_between(const group& of) const {
  const uint64_t between = of.most - of.least + 1;
  return of.rows == between || between * stored_bytes_ <= how_.memory;
}

bool gathered_rows::buckets_are_cheaper() const {
  uint64_t ranges = 0;
  uint64_t rows = 0;
  for (const group& one : groups_) {
    ranges += one.most - one.least + 1;
    rows += one.rows;
  }
  // All is read once, and what is needed is written and read again.
  return ranges > part_.table->rows + 2 * rows;
}

void gathered_rows::fill_buckets() {
  const stored_rows& from = *part_.table->elsewhere;
  constexpr uint32_t nowhere = UINT32_MAX;
  std::vector<uint32_t> group_of(part_.table->rows, nowhere); // by place
  uint64_t begin = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].bucket = begin;
    begin += groups_[i].rows * stored_bytes_;
    for (size_t chunk = groups_[i].begin; chunk < groups_[i].end; ++chunk)
      for (uint64_t sample : chunks_[chunk])
        group_of[place_of(sample)] = uint32_t(i);
  }
  buckets_.emplace(how_.folder / "buckets", refuse_write);
  struct bucket {
    std::vector<unsigned char> bytes;
    uint64_t at = 0; // in the file
  };
  std::vector<bucket> buckets(groups_.size());
  const uint64_t room = std::clamp(how_.memory / 4 / groups_.size(),
                                   bucket_buffer_least, bucket_buffer_most);
  for (size_t i = 0; i < groups_.size(); ++i)
    buckets[i].at = groups_[i].bucket;
  const auto flush = [&](bucket& one) {
    buckets_->write(one.at, one.bytes.data(), one.bytes.size());
    one.at += one.bytes.size();
    one.bytes.clear();
  };
  const uint64_t step = std::max<uint64_t>(1, read_bytes / stored_bytes_);
  std::vector<unsigned char> block(step * stored_bytes_);
  for (uint64_t first = 0; first < group_of.size(); first += step) {
    check_stop(how_.stop);
    const uint64_t count = std::min(step, group_of.size() - first);
    from.read(first, count, block.data());
    for (uint64_t i = 0; i < count; ++i) {
      if (group_of[first + i] == nowhere)
        continue;
      bucket& to = buckets[group_of[first + i]];
      const unsigned char* row = block.data() + i * stored_bytes_;
      to.bytes.insert(to.bytes.end(), row, row + stored_bytes_);
      if (to.bytes.size() >= room)
        flush(to);
    }
  }
  for (bucket& one : buckets)
    if (!one.bytes.empty())
      flush(one);
}

std::vector<std::pair<uint64_t, uint32_t>>
gathered_rows::places_of(const group& of) const {
  std::vector<std::pair<uint64_t, uint32_t>> out;
  out.reserve(of.rows);
  for (size_t chunk = of.begin; chunk < of.end; ++chunk)
    for (uint64_t sample : chunks_[chunk])
      out.emplace_back(place_of(sample), uint32_t(out.size()));
  std::sort(out.begin(), out.end());
  return out;
}

void gathered_rows::read_ranges(
    const std::vector<std::pair<uint64_t, uint32_t>>& places) {
  const stored_rows& from = *part_.table->elsewhere;
  const uint64_t gap = gap_bytes / stored_bytes_ + 1;
  const uint64_t step = std::max<uint64_t>(1, read_bytes / stored_bytes_);
  std::vector<unsigned char> block(step * stored_bytes_);
  for (size_t at = 0; at < places.size();) {
    check_stop(how_.stop);
    const uint64_t first = places[at].first;
    size_t end = at + 1;
    while (end < places.size() && places[end].first < first + step &&
           places[end].first - places[end - 1].first <= gap)
      ++end;
    from.read(first, places[end - 1].first - first + 1, block.data());
    for (; at < end; ++at)
      std::memcpy(rows_.data() + at * stored_bytes_,
                  block.data() + (places[at].first - first) * stored_bytes_,
                  stored_bytes_);
  }
}

/// Chunks that lie there are checked, which takes longer than to read them.
void gathered_rows::read_all(uint64_t first, uint64_t count) {
  const uint64_t step = std::max<uint64_t>(1, 4 * read_bytes / stored_bytes_);
  const auto read = [this, first, count, step](uint64_t at) {
    part_.table->elsewhere->read(first + at, std::min(step, count - at),
                                 rows_.data() + at * stored_bytes_);
    return true;
  };
  if (count <= step) {
    read(0);
    return;
  }
  ordered_work<bool> readers(work_threads(), "bl-rows");
  for (uint64_t at = 0; at < count || readers.under_way() > 0;) {
    check_stop(how_.stop);
    while (at < count && readers.under_way() < readers.wanted()) {
      readers.give([read, at] { return read(at); });
      at += step;
    }
    readers.take();
  }
}

size_t gathered_rows::load() {
  if (part_.table->elsewhere == nullptr)
    return chunks_.size();
  if (loaded_ > 0)
    first_ += groups_[loaded_ - 1].rows;
  const group& next = groups_.at(loaded_++);
  ranks_.clear();
  rows_.resize(0); // nothing of it is to be copied
  least_ = next.least;
  if (!buckets_ && takes_all_between(next)) {
    rows_.resize((next.most - next.least + 1) * stored_bytes_);
    read_all(next.least, next.most - next.least + 1);
    return next.end;
  }
  rows_.resize(next.rows * stored_bytes_);
  const std::vector<std::pair<uint64_t, uint32_t>> places = places_of(next);
  if (buckets_)
    buckets_->read(next.bucket, rows_.data(), rows_.size());
  else
    read_ranges(places);
  ranks_.resize(places.size());
  for (uint32_t rank = 0; rank < places.size(); ++rank)
    ranks_[places[rank].second] = rank;
  return next.end;
}

void gathered_rows::gather(std::span<const uint64_t> samples, uint64_t before,
                           unsigned char* out) const {
  const source_table& table = *part_.table;
  const bool loaded = table.elsewhere != nullptr;
  const unsigned char* const rows =
      loaded ? rows_.data() : table.features.data();
  const size_t each = loaded ? stored_bytes_ : row_bytes_;
  const auto at = [&](size_t i) {
    if (!loaded)
      return rows + part_.rows[samples[i]] * each;
    return rows + (ranks_.empty() ? place_of(samples[i]) - least_
                                  : ranks_[before + i]) *
                      each;
  };
  const size_t values = each / stored_bytes(from_);
  // Where a row lies is far away itself, so it is looked up once.
  std::array<const unsigned char*, rows_ahead> asked{};
  const auto ask = [&](size_t i) {
    if (i < samples.size())
      prefetch(asked[i % rows_ahead] = at(i), each);
  };
  for (size_t i = 0; i < rows_ahead; ++i)
    ask(i);
  for (size_t i = 0; i < samples.size(); ++i, out += row_bytes_) {
    const unsigned char* const row = asked[i % rows_ahead];
    ask(i + rows_ahead);
    if (from_ == to_)
      std::memcpy(out, row, each);
    else
      convert_values(row, from_, values, to_, out);
  }
}

} // namespace ballast::data
