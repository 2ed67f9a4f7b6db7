/// The two roles of `ballast node`.
#pragma once

#include <cstdint>
#include <string>

namespace ballast::cli {

struct node_options {
  bool coordinator = false;
  std::string listen = "127.0.0.1:0";  // coordinator
  std::string http = "127.0.0.1:0";    // coordinator
  std::string state;                   // coordinator: folder for its runs
  std::string join;                    // worker: HOST:PORT
  std::string name;                    // worker
  std::string device = "auto";         // worker
  std::string metrics = "127.0.0.1:0"; // worker
  /// worker: where other nodes reach it; empty: its own address on the route to
  /// the coordinator
  std::string host;
  uint32_t wait_s = 10;  // worker: retry the coordinator for this long
  bool once = false;     // worker: leave after one job
  uint32_t grace_s = 30; // worker: SIGTERM lets it leave within this time
  bool insecure = false; // bind other addresses than loopback
  // -- set by `ballast run` for its children
  int liveness_fd = -1;
  bool preload_torch = false;
  bool http_again = false; // an earlier coordinator had that address
  bool no_progress = false;
  std::string build_id; // for tests of the handshake
};

/// Both return the exit code; the reason of a failure is the last line on
/// stderr.
int run_coordinator(const node_options& options);
int run_worker(const node_options& options);

} // namespace ballast::cli
