/// Fault injection in the collectives: points where a test can end, stop or
/// slow the process. Without a hook a point costs one load.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ballast::collectives {

enum class fault_point : uint8_t {
  before_open,    // addresses are known, nothing is connected
  handshake,      // a connection exists, its handshake is not complete
  after_open,     // joined, no operation yet
  operation,      // an operation begins
  segment,        // between two segments of an operation
  between_phases, // own slice is reduced, the results are not collected
  finished,       // the result is complete, others may still need this rank
};
constexpr int fault_point_count = 7;
std::string to_string(fault_point point);

/// Called at every point with the rank that reached it; null removes it. Set
/// before the collectives start; runs on the thread that reaches the point.
void set_fault_hook(std::function<void(fault_point, int rank)> hook);
void reach(fault_point point, int rank);

} // namespace ballast::collectives
