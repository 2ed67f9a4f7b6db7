/// What a run is at.
#pragma once

#include "runtime/base/words.hpp"

#include <cstdint>

namespace ballast::coordinator {

enum class run_phase : uint8_t {
  idle,      // no job
  preparing, // reading and placing the data
  waiting,   // for enough workers
  loading,   // workers fetch their chunks
  training,
  paused,
  recovering, // fenced; survivors keep their state for the next generation
  finishing,  // last step applied everywhere; collecting the model
  done,
  failed,
  stopped,
};

} // namespace ballast::coordinator

template <>
inline constexpr auto ballast::words_of<ballast::coordinator::run_phase> =
    std::to_array<std::string_view>({"idle", "preparing", "waiting", "loading",
                                     "training", "paused", "recovering",
                                     "finishing", "done", "failed", "stopped"});
