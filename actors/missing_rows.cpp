#include "actors/missing_rows.hpp"

#include "runtime/base/row_request.hpp"

#include <algorithm>

namespace ballast::actors {

missing_rows missing_of(std::span<const ledger::row_ref> rows,
                        const std::vector<data::row_place>& places,
                        const std::vector<ledger::chunk_info>& chunks,
                        uint64_t room_bytes) {
  std::vector<size_t> all;
  for (size_t i = 0; i < rows.size(); ++i)
    if (!places[i].in)
      all.push_back(i);
  std::sort(all.begin(), all.end(),
            [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  missing_rows out;
  for (auto from = all.begin(); from != all.end();) {
    const chunk_id id = rows[*from].chunk;
    const auto to = std::find_if(from, all.end(),
                                 [&](size_t i) { return rows[i].chunk != id; });
    const ledger::chunk_info& whole = chunks.at(value(id));
    const auto count = uint64_t(to - from);
    if ((whole.bytes <= small_chunk_bytes ||
         count * part_of_rows >= whole.rows) &&
        whole.bytes <= room_bytes) {
      out.chunks.push_back(id);
      room_bytes -= whole.bytes;
    } else {
      out.rows.insert(out.rows.end(), from, to);
      out.rows_bytes += count * whole.bytes / whole.rows;
    }
    from = to;
  }
  return out;
}

} // namespace ballast::actors
