#include "actors/nearby_rows.hpp"

#include "data/store/picked_rows.hpp"
#include "monitor/logs/log.hpp"

#include <utility>

namespace ballast::actors {

nearby_rows::nearby_rows(std::unique_ptr<data::nearby_set> set,
                         std::unique_ptr<data::chunk_disk> kept,
                         ledger::row_shape row)
    : set_(std::move(set)), kept_(std::move(kept)), row_(std::move(row)),
      usable_(set_ != nullptr) {}

data::chunk_ptr nearby_rows::read_set(data::data_part part, chunk_id id) {
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

data::chunk_ptr nearby_rows::read(data::data_part part, chunk_id id) {
  if (data::chunk_ptr out = read_set(part, id)) {
    from_set_ += out->bytes;
    return out;
  }
  data::chunk_ptr out =
      kept_ && part == data::data_part::train ? kept_->read(id) : nullptr;
  if (out)
    from_kept_ += out->bytes;
  return out;
}

void nearby_rows::bring(wanted_chunks& wanted,
                        const chunk_fetcher::terms& how) {
  std::erase_if(wanted.chunks, [&](const ledger::chunk_info& one) {
    if (how.given_up && how.given_up())
      return false;
    if (wanted.into->find(wanted.part, one.id))
      return true;
    data::chunk_ptr got = read(wanted.part, one.id);
    if (!got)
      return false;
    if (how.progress)
      how.progress(got->bytes);
    wanted.into->put(wanted.part, std::move(got), wanted.needed_now);
    return true;
  });
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

void nearby_rows::keep(const data::chunk_store& from,
                       std::span<const chunk_id> arrived) {
  for (chunk_id id : arrived)
    if (const data::chunk_ptr one = from.find(data::data_part::train, id))
      kept_->put(*one);
}

void nearby_rows::keep_only(const std::vector<bool>& used) {
  kept_->keep_only(used);
}

} // namespace ballast::actors
