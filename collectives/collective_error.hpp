/// How an operation of the gradient plane fails, and what the coordinator hears
/// of it. Values; any thread.
#pragma once

#include "runtime/messages/dead_link.hpp"
#include "runtime/messages/reports.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ballast {

enum class collective_errc : uint8_t {
  peer_lost,   // a rank's process is gone
  timeout,     // the deadline passed
  aborted,     // abort() was called
  mismatch,    // ranks disagree on generation, size, layout or version
  poisoned,    // cannot be made safe again: the process must end
  unsupported, // this backend does not offer the operation
  unable,      // this process lacks something of its own, as descriptors
};
std::string to_string(collective_errc code);

class collective_error : public std::runtime_error {
public:
  collective_error(collective_errc code, const std::string& what, int peer = -1,
                   std::vector<dead_link> links = {})
      : std::runtime_error(what), code_(code), peer_(peer),
        links_(std::move(links)) {}
  collective_errc code() const { return code_; }
  /// The rank to blame, -1 if unknown.
  int peer() const { return peer_; }
  /// This rank's connections over which nothing goes; none: the failure is
  /// another one, or another rank's.
  const std::vector<dead_link>& links() const { return links_; }

private:
  collective_errc code_;
  int peer_;
  std::vector<dead_link> links_;
};

/// What the coordinator hears of a collective of this generation that failed.
worker_failed report_of(const collective_error& e, generation of);

} // namespace ballast
