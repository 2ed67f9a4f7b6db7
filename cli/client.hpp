/// The HTTP client of the thin commands: finds a coordinator and sends it
/// requests. Used from the main thread; every request has a deadline. Throws
/// ballast_error: usage if `--to` is not an address, unreachable if there is no
/// answer.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

class coordinator_client {
public:
  /// `to`: http://HOST:PORT, HOST:PORT, or a run directory, whose
  /// coordinator.json names the address.
  explicit coordinator_client(const std::string& to);

  struct reply {
    int status = 0;
    nlohmann::json body;
  };
  reply get(const std::string& path) const;
  reply post(const std::string& path, const std::string& body) const;

  /// Server-sent events: `take` gets each `data` payload, until it returns
  /// false or the server ends the stream.
  void stream(const std::string& path,
              const std::function<bool(const std::string&)>& take) const;

  std::string url() const;

private:
  [[noreturn]] void unreachable(const std::string& why) const;

  std::string host_;
  int port_ = 0;
  std::string run_directory_; // empty if `to` was an address
};

} // namespace ballast::cli
