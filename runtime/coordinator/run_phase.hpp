/// What a run is at.
#pragma once

#include <cstdint>
#include <string>

namespace ballast {

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
std::string to_string(run_phase phase);

} // namespace ballast
