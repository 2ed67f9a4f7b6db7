#include "data/loader/row_source.hpp"

#include "runtime/base/errors.hpp"

namespace ballast::data {

void resident_rows::gather(data_part part,
                           std::span<const ledger::row_ref> rows,
                           const question&, batch& out) {
  data::gather(store_, part, row_, rows, out);
}

chunk_ptr resident_rows::chunk_of(data_part part, chunk_id id,
                                  const question&) {
  chunk_ptr found = store_.find(part, id);
  if (!found)
    throw ballast_error(errc::internal, to_string(part) + " chunk " +
                                            to_string(id) + " is not here");
  return found;
}

} // namespace ballast::data
