/// The liveness socket between the supervisor of `ballast run` and each of its
/// children: one end each of a stream socket pair. It carries JSON lines, and
/// its end-of-file means that the other process is gone, whatever ended it.
///
///   supervisor -> coordinator  {"job": {..}, "run_dir": "", "progress": true}
///                              {"resume": {"folder": .., "job": {..}, "alive":
///                              ["w1", ..], "again": asked for by a user}}
///                              {"exited": {"name": "w2", "signal": 9, "words":
///                              ".."}}, or "code", or neither: never started
///                              {"signal": 2}
///   coordinator -> supervisor  {"ready": {"control": .., "http": ..}}
///                              {"run": {"name": .., "folder": ..}}
///                              {"taken_over": true}: what was asked for with
///                              "resume" is on the disk
///                              {"refused": {"exit_code": .., "reason": ..}}
///                              {"ended": {"exit_code": .., "reason": ..,
///                                         "folder": .., "report": {..}}}
///
/// Workers send and receive nothing; they only watch for the end.
#pragma once

#include "runtime/base/unique_fd.hpp"
#include "runtime/messages/loss_cause.hpp"

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace ballast::cli {

/// The value of "exited", and what it says.
nlohmann::json to_json(const std::string& name, const process_end& how);
process_end process_end_of(const nlohmann::json& line);

class liveness_socket {
public:
  /// Takes over the descriptor.
  explicit liveness_socket(int descriptor) : descriptor_(descriptor) {}
  liveness_socket(const liveness_socket&) = delete;
  liveness_socket& operator=(const liveness_socket&) = delete;

  /// Sends one line; false if the other side is gone. Any thread.
  bool send(const nlohmann::json& line);
  /// The next line; null when the other side is gone. One thread at a time.
  nlohmann::json receive();
  /// The line that receive() would return without blocking, else null; `closed`
  /// reports the end.
  nlohmann::json poll(bool& closed);
  int descriptor() const { return descriptor_.get(); }

private:
  bool take_line(std::string& line);

  unique_fd descriptor_;
  std::mutex sending_;
  std::string received_;
};

} // namespace ballast::cli
