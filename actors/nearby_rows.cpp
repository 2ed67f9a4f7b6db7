#include "actors/nearby_rows.hpp"

#include "data/picked_rows.hpp"
#include "monitor/logs/log.hpp"

#include <utility>

namespace ballast::actors {

nearby_rows::nearby_rows(std::unique_ptr<data::nearby_set> set,
                         ledger::row_shape row)
    : set_(std::move(set)), row_(std::move(row)), usable_(set_ != nullptr) {}

data::chunk_ptr nearby_rows::read(data::data_part part, chunk_id id) {
  if (!usable_)
    return nullptr;
  try {
    return set_->read(part, id);
  } catch (const ballast_error& e) {
    if (usable_.exchange(false))
      monitor::log().warn("the prepared set on this machine: {}; the origin "
                          "sends everything from now on",
                          e.what());
    return nullptr;
  }
}

void nearby_rows::bring(wanted_chunks& wanted,
                        const chunk_fetcher::terms& how) {
  size_t done = 0;
  for (const ledger::chunk_info& one : wanted.chunks) {
    if (!usable_ || (how.given_up && how.given_up()))
      break;
    if (!wanted.into->find(wanted.part, one.id)) {
      data::chunk_ptr got = read(wanted.part, one.id);
      if (!got)
        break;
      if (how.progress)
        how.progress(got->bytes);
      wanted.into->put(wanted.part, std::move(got), wanted.needed_now);
    }
    ++done;
  }
  wanted.chunks.erase(wanted.chunks.begin(),
                      wanted.chunks.begin() + std::ptrdiff_t(done));
}

data::chunk_ptr nearby_rows::rows(data::data_part part,
                                  std::span<const ledger::row_ref> wanted) {
  data::picked_rows out(wanted.size());
  data::chunk_ptr held;
  for (const ledger::row_ref& one : wanted) {
    if (!held || held->id != one.chunk)
      held = read(part, one.chunk);
    if (!held || one.row >= held->rows)
      return nullptr;
    out.add(*held, one.row);
  }
  return data::make_chunk(chunk_id{}, row_, out.take());
}

} // namespace ballast::actors
