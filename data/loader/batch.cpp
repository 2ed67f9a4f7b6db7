#include "data/loader/batch.hpp"

#include "data/loader/augmented_rows.hpp"
#include "data/store/chunk_store.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cstring>

namespace ballast::data {

namespace {

/// The inner loop. Contiguous on both sides and without a branch, so that the
/// compiler vectorises it (this file is built with -O3).
template <class T>
void convert(const T* __restrict from, float* __restrict to, size_t count,
             float scale, float offset) {
  for (size_t i = 0; i < count; ++i)
    to[i] = float(from[i]) * scale + offset;
}

/// stored * scale + offset, with all parameters fixed before the rows.
struct converter {
  enum class kind : uint8_t { uint8, int16, int32, float32, copy } what;
  size_t features;
  size_t row_bytes;
  float scale;
  float offset;

  explicit converter(const ledger::row_shape& row)
      : features(row.features), row_bytes(data::row_bytes(row)),
        scale(float(row.scale)), offset(float(row.offset)) {
    const bool as_is = scale == 1 && offset == 0;
    what = kind_of(row.stored);
    if (as_is && what == kind::float32)
      what = kind::copy;
  }

  static kind kind_of(ledger::stored_type stored) {
    switch (stored) {
    case ledger::stored_type::uint8:
      return kind::uint8;
    case ledger::stored_type::int16:
      return kind::int16;
    case ledger::stored_type::int32:
      return kind::int32;
    case ledger::stored_type::float32:
      break;
    }
    return kind::float32;
  }

  /// `count` consecutive rows.
  void rows(const void* from, float* to, size_t count) const {
    const size_t values = count * features;
    switch (what) {
    case kind::uint8:
      return convert(static_cast<const uint8_t*>(from), to, values, scale,
                     offset);
    case kind::int16:
      return convert(static_cast<const int16_t*>(from), to, values, scale,
                     offset);
    case kind::int32:
      return convert(static_cast<const int32_t*>(from), to, values, scale,
                     offset);
    case kind::float32:
      return convert(static_cast<const float*>(from), to, values, scale,
                     offset);
    case kind::copy:
      std::memcpy(to, from, values * sizeof(float));
    }
  }
};

void reserve_rows(batch& out, const ledger::row_shape& row, size_t rows) {
  out.rows = uint32_t(rows);
  const ledger::row_shape& seen = out.images ? out.images->seen() : row;
  out.features.resize(rows * seen.features);
  out.labels.resize(row.classes > 0 ? rows : 0);
  out.targets.resize(row.classes > 0 ? 0 : rows);
  out.sample_ids.resize(rows);
}

[[noreturn]] void refuse_row(const chunk& from, data_part part, size_t row) {
  throw ballast_error(errc::internal, "row " + std::to_string(row) +
                                          " of chunk " + to_string(from.id) +
                                          " of " + to_string(part) +
                                          " is asked for, it has " +
                                          std::to_string(from.rows) + " rows");
}

[[noreturn]] void refuse_missing(data_part part,
                                 std::span<const ledger::row_ref> rows,
                                 const std::vector<row_place>& found) {
  size_t first = 0;
  while (found[first].in)
    ++first;
  throw ballast_error(errc::internal,
                      "chunk " + to_string(rows[first].chunk) + " of " +
                          to_string(part) +
                          " is not in this process, though its rows are "
                          "to be used; please report this");
}

/// The rows of a draw are scattered in memory: prefetch the next one while this
/// one is converted. The first cache lines suffice, the hardware prefetches the
/// rest.
void prefetch(const chunk& from, size_t row, size_t row_bytes) {
  const char* at = static_cast<const char*>(from.features) + row * row_bytes;
  for (size_t byte = 0; byte < std::min<size_t>(row_bytes, 256); byte += 64)
    __builtin_prefetch(at + byte);
  if (from.labels != nullptr)
    __builtin_prefetch(from.labels + row);
  __builtin_prefetch(from.sample_ids + row);
}

/// Everything but the features of row i.
void take_label(const chunk& from, size_t at, size_t i, batch& out) {
  if (from.labels != nullptr)
    out.labels[i] = from.labels[at];
  else
    out.targets[i] = from.targets[at];
  out.sample_ids[i] = from.sample_ids[at];
}

const char* row_of(const chunk& from, size_t at, size_t row_bytes) {
  return static_cast<const char*>(from.features) + at * row_bytes;
}

/// Of images that are changed on their way.
void gather_images(data_part part, const ledger::row_shape& row, batch& out) {
  const size_t each = row_bytes(row);
  const size_t rows = out.places.size();
  reserve_rows(out, row, rows);
  std::vector<const void*> images(rows);
  for (size_t i = 0; i < rows; ++i) {
    const chunk& from = *out.places[i].in;
    const size_t at = out.places[i].row;
    if (at >= from.rows)
      refuse_row(from, part, at);
    images[i] = row_of(from, at, each);
    take_label(from, at, i, out);
  }
  out.images->make(images, out.sample_ids, out.epoch, out.features);
  out.places.clear();
}

} // namespace

void gather(const chunk_store& store, data_part part,
            const ledger::row_shape& row, std::span<const ledger::row_ref> rows,
            batch& out) {
  if (store.find_all(part, rows, out.places) > 0)
    refuse_missing(part, rows, out.places);
  gather_places(part, row, out);
}

void gather_places(data_part part, const ledger::row_shape& row, batch& out) {
  if (out.images != nullptr)
    return gather_images(part, row, out);
  constexpr size_t ahead = 4;
  const converter convert_rows(row);
  const size_t rows = out.places.size();
  reserve_rows(out, row, rows);
  for (size_t i = 0; i < rows; ++i) {
    if (i + ahead < rows)
      prefetch(*out.places[i + ahead].in, out.places[i + ahead].row,
               convert_rows.row_bytes);
    const chunk& from = *out.places[i].in;
    const size_t at = out.places[i].row;
    if (at >= from.rows)
      refuse_row(from, part, at);
    convert_rows.rows(row_of(from, at, convert_rows.row_bytes),
                      out.features.data() + i * row.features, 1);
    take_label(from, at, i, out);
  }
  out.places.clear(); // an old batch must not keep a dropped chunk alive
}

void gather_range(const chunk& from, const ledger::row_shape& row,
                  uint32_t begin, uint32_t count, batch& out) {
  const converter convert_rows(row);
  if (count > from.rows || begin > from.rows - count)
    throw ballast_error(errc::internal,
                        "rows " + std::to_string(begin) + " to " +
                            std::to_string(uint64_t{begin} + count) +
                            " of chunk " + to_string(from.id) +
                            " are asked for, it has " +
                            std::to_string(from.rows) + " rows");
  reserve_rows(out, row, count);
  if (out.images == nullptr)
    convert_rows.rows(row_of(from, begin, convert_rows.row_bytes),
                      out.features.data(), count);
  if (from.labels != nullptr)
    std::copy_n(from.labels + begin, count, out.labels.begin());
  else
    std::copy_n(from.targets + begin, count, out.targets.begin());
  std::copy_n(from.sample_ids + begin, count, out.sample_ids.begin());
  if (out.images == nullptr)
    return;
  std::vector<const void*> images(count);
  for (size_t i = 0; i < count; ++i)
    images[i] = row_of(from, begin + i, convert_rows.row_bytes);
  out.images->make(images, out.sample_ids, out.epoch, out.features);
}

} // namespace ballast::data
