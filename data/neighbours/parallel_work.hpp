/// Equal pieces of work on a few threads of their own, of which the caller's is
/// one. Which thread takes which piece is open, so a piece writes only what no
/// other one reads; then the results do not depend on the number of threads.
/// What a piece throws is thrown again, after the others have ended.
#pragma once

#include "runtime/base/on_threads.hpp"
#include "store/work_watch.hpp"

#include <cstddef>

namespace ballast::data {

struct work_terms {
  size_t threads = 1;
  store::work_watch stop = {};
};

/// `piece(i)` for i in [0, count). Throws ballast_error{stopped} between two.
template <class Piece>
void parallel_work(size_t count, const work_terms& how, const Piece& piece) {
  for_each_piece(count, how.threads, "bl-pieces", [&](size_t i) {
    store::check_stop(how.stop);
    piece(i);
  });
}

} // namespace ballast::data
