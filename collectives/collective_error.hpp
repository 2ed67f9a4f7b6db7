/// The errors of the gradient plane, and their report to the coordinator.
/// Values; any thread.
#pragma once

#include "runtime/base/words.hpp"
#include "runtime/messages/dead_link.hpp"
#include "runtime/messages/reports.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ballast::collectives {

enum class collective_errc : uint8_t {
  peer_lost,   // a rank's process is dead
  timeout,     // the deadline passed
  aborted,     // abort() was called
  mismatch,    // ranks disagree on generation, size, layout or version
  poisoned,    // not recoverable: the process must end
  unsupported, // this backend does not offer the operation
  unable,      // this process lacks a resource, such as descriptors
};

} // namespace ballast::collectives

template <>
inline constexpr auto ballast::words_of<ballast::collectives::collective_errc> =
    std::to_array<std::string_view>({"peer_lost", "timeout", "aborted",
                                     "mismatch", "poisoned", "unsupported",
                                     "unable"});

namespace ballast::collectives {

class collective_error : public std::runtime_error {
public:
  collective_error(collective_errc code, const std::string& what, int peer = -1,
                   std::vector<dead_link> links = {})
      : std::runtime_error(what), code_(code), peer_(peer),
        links_(std::move(links)) {}
  collective_errc code() const { return code_; }
  /// The rank at fault, -1 if unknown.
  int peer() const { return peer_; }
  /// This rank's connections without any response; empty if the failure is of
  /// another kind, or another rank's.
  const std::vector<dead_link>& links() const { return links_; }

private:
  collective_errc code_;
  int peer_;
  std::vector<dead_link> links_;
};

/// The report to the coordinator about a failed collective of this generation.
worker_failed report_of(const collective_error& e, generation of);

} // namespace ballast::collectives
