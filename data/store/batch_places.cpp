#include "data/store/batch_places.hpp"

#include "data/store/chunk.hpp"

#include <charconv>
#include <cstring>

namespace ballast::data {

namespace {

/// As Arrow fills up a column.
constexpr uint64_t column_multiple = 8;

uint64_t filled_up(uint64_t bytes) {
  return (bytes + column_multiple - 1) / column_multiple * column_multiple;
}

/// Of a flat buffer, which stores numbers as this machine does.
template <class Number>
bool read_number(std::string_view bytes, uint64_t at, Number& out) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Number))
    return false;
  std::memcpy(&out, bytes.data() + at, sizeof(Number));
  return true;
}

/// Where the value of a table's field lies; 0: it has none, or is damaged.
uint64_t field_of(std::string_view bytes, uint64_t table, uint64_t number) {
  int32_t back = 0;
  uint16_t length = 0;
  uint16_t offset = 0;
  if (!read_number(bytes, table, back))
    return 0;
  const auto fields = uint64_t(int64_t(table) - back);
  const uint64_t at = 2 * sizeof(uint16_t) + number * sizeof(uint16_t);
  if (!read_number(bytes, fields, length) || at + sizeof(uint16_t) > length ||
      !read_number(bytes, fields + at, offset) || offset == 0)
    return 0;
  return table + offset;
}

template <class Number>
bool take_number(std::string_view& text, Number& out) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc())
    return false;
  text.remove_prefix(size_t(read.ptr - text.data()));
  return true;
}

bool take_letter(std::string_view& text, char letter) {
  if (!text.starts_with(letter))
    return false;
  text.remove_prefix(1);
  return true;
}

} // namespace

std::optional<std::vector<batch_block>> blocks_of(std::string_view footer) {
  constexpr uint64_t of_batches = 3; // version, schema, dictionaries before
  constexpr uint64_t block_bytes = 24;
  uint32_t table = 0;
  uint32_t offset = 0;
  uint32_t count = 0;
  if (!read_number(footer, 0, table))
    return std::nullopt;
  const uint64_t field = field_of(footer, table, of_batches);
  if (field == 0)
    return std::vector<batch_block>();
  if (!read_number(footer, field, offset) ||
      !read_number(footer, field + offset, count))
    return std::nullopt;
  const uint64_t first = field + offset + sizeof(count);
  if (first > footer.size() || (footer.size() - first) / block_bytes < count)
    return std::nullopt;
  std::vector<batch_block> out;
  out.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    int32_t metadata = 0;
    int64_t bytes = 0;
    const uint64_t block = first + i * block_bytes;
    if (!read_number(footer, block, at) ||
        !read_number(footer, block + sizeof(at), metadata) ||
        !read_number(footer, block + 2 * sizeof(at), bytes) || at < 0 ||
        metadata < 0 || bytes < 0)
      return std::nullopt;
    out.push_back({uint64_t(at) + uint64_t(metadata), uint64_t(bytes)});
  }
  return out;
}

std::optional<std::vector<batch_place>>
places_of(const std::vector<uint64_t>& rows,
          const std::vector<batch_block>& blocks,
          const ledger::row_shape& row) {
  std::vector<batch_place> out;
  out.reserve(rows.size());
  uint64_t first = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t features = filled_up(rows[i] * row_bytes(row));
    const uint64_t labels = filled_up(rows[i] * sizeof(int32_t));
    const uint64_t ids = filled_up(rows[i] * sizeof(uint64_t));
    if (blocks[i].bytes != features + labels + ids)
      return std::nullopt;
    out.push_back({first, rows[i], blocks[i].at, blocks[i].at + features,
                   blocks[i].at + features + labels});
    first += rows[i];
  }
  return out;
}

std::string text_of_rows(const std::vector<uint64_t>& rows) {
  std::string out;
  for (size_t at = 0, end = 0; at < rows.size(); at = end) {
    for (end = at; end < rows.size() && rows[end] == rows[at];)
      ++end;
    out += out.empty() ? "" : " ";
    if (end - at > 1)
      out += std::to_string(end - at) + "*";
    out += std::to_string(rows[at]);
  }
  return out;
}

std::optional<std::vector<uint64_t>> read_text_of_rows(std::string_view text,
                                                       size_t most) {
  constexpr uint64_t rows_most = UINT32_MAX;
  std::vector<uint64_t> out;
  while (!text.empty()) {
    uint64_t count = 1;
    uint64_t rows = 0;
    if (!out.empty() && !take_letter(text, ' '))
      return std::nullopt;
    if (!take_number(text, rows))
      return std::nullopt;
    if (take_letter(text, '*')) {
      count = rows;
      if (!take_number(text, rows))
        return std::nullopt;
    }
    if (count == 0 || count > most - out.size() || rows > rows_most)
      return std::nullopt;
    out.insert(out.end(), count, rows);
  }
  return out;
}

} // namespace ballast::data
