/// How far the data of a run are prepared, and how long that still takes: from
/// what the thread that prepares them notes. Owned by the coordinator.
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/coordinator/run_status.hpp"
#include "store/work_watch.hpp"

#include <memory>
#include <optional>

namespace ballast::actors {

class preparation_view {
public:
  /// Other data, from their beginning; give this to who prepares them.
  std::shared_ptr<store::work_seen> begin();
  /// Of files that are read, then of rows that are written; nothing before. The
  /// rest of these is as quick as what was done since the first call that saw
  /// any.
  std::optional<coordinator::run_status::preparation> at(instant now);

private:
  std::shared_ptr<store::work_seen> seen_;
  struct mark {
    instant when{};
    uint64_t done = 0;
    uint64_t total = 0; // of the part of the work that it was seen in
  };
  std::optional<mark> first_;
};

} // namespace ballast::actors
