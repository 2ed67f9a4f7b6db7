#include "data/resampling/memory_room.hpp"

#include "data/store/host_memory.hpp"
#include "runtime/base/errors.hpp"

namespace ballast::data {

void check_room(uint64_t bytes, const std::string& what) {
  constexpr uint64_t always_there = uint64_t{16} << 20;
  if (bytes <= always_there)
    return;
  if (const uint64_t free = available_memory_bytes(); bytes > free)
    throw ballast_error(errc::invalid_data,
                        what + " take " + std::to_string(bytes >> 20) +
                            " MB of memory, and this process may use " +
                            std::to_string(free >> 20) +
                            " MB more; leave rows out, ask for fewer, or "
                            "resample where there is more memory");
}

} // namespace ballast::data
