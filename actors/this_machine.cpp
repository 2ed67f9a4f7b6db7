#include "actors/this_machine.hpp"

#include "data/store/host_memory.hpp"

#include <algorithm>
#include <thread>

namespace ballast::actors {

machine_size this_machine() {
  return {data::total_memory_bytes(),
          std::max(1u, std::thread::hardware_concurrency())};
}

} // namespace ballast::actors
