#include "cli/client.hpp"

#include "runtime/base/errors.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <httplib.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace ballast::cli {

namespace {

using nlohmann::json;

constexpr time_t connect_timeout_s = 2;
constexpr time_t reply_timeout_s = 30;
constexpr auto tell_after = std::chrono::seconds(5);
/// For events: the stream may be silent as long as a step takes.
constexpr time_t silence_timeout_s = 24 * 3600;
constexpr size_t event_bytes_max = size_t{16} << 20;

std::string to_text(httplib::Error error) {
  switch (error) {
  case httplib::Error::Connection:
    return "connection refused or timed out";
  case httplib::Error::Read:
    return "no answer in time";
  default:
    return "HTTP error: " + httplib::to_string(error);
  }
}

/// Prints once that the answer takes long, while it is alive.
class long_wait {
public:
  explicit long_wait(std::string url)
      : thread_([this, url = std::move(url)] {
          std::unique_lock lock(mutex_);
          if (!over_.wait_for(lock, tell_after, [this] { return ended_; }))
            std::fprintf(stderr,
                         "no answer from %s for %d s: its process may stand "
                         "still; waits up to %d s\n",
                         url.c_str(), int(tell_after.count()),
                         int(reply_timeout_s));
        }) {}
  ~long_wait() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool ended_ = false;
  std::thread thread_; // uses all members above
};

[[noreturn]] void bad_address(const std::string& to, const std::string& why) {
  throw ballast_error(errc::usage, "--to " + to + ": " + why +
                                       "; expected http://HOST:PORT or a run "
                                       "directory");
}

/// The "http" of RUN_DIR/coordinator.json.
std::string address_of(const std::string& run_directory) {
  auto path = std::filesystem::path(run_directory) / "coordinator.json";
  std::ifstream in(path);
  if (!in)
    throw ballast_error(errc::unreachable,
                        path.string() +
                            " does not exist: no coordinator works in this "
                            "directory (yet)");
  std::error_code ignored; // reading a folder would throw
  json about = std::filesystem::is_directory(path, ignored)
                   ? json()
                   : json::parse(in, nullptr, false);
  if (!about.is_object() || !about.contains("http") ||
      !about["http"].is_string())
    throw ballast_error(errc::unreachable,
                        path.string() + " names no \"http\" address");
  return about["http"];
}

json parse_body(const std::string& url, const std::string& text) {
  json body = json::parse(text, nullptr, false);
  if (body.is_discarded())
    throw ballast_error(errc::unreachable,
                        url + " answered something that is no JSON; is this "
                              "the coordinator's HTTP address?");
  return body;
}

} // namespace

coordinator_client::coordinator_client(const std::string& to) {
  std::error_code ignored;
  std::string address = to;
  if (std::filesystem::is_directory(to, ignored)) {
    run_directory_ = to;
    address = address_of(to);
  }
  if (address.rfind("https://", 0) == 0)
    throw ballast_error(errc::not_in_build,
                        "--to " + to + ": https is not in this build");
  if (address.rfind("http://", 0) == 0)
    address.erase(0, 7);
  while (!address.empty() && address.back() == '/')
    address.pop_back();
  size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0)
    bad_address(to, "no host and port");
  host_ = address.substr(0, colon);
  if (host_.size() > 2 && host_.front() == '[' && host_.back() == ']')
    host_ = host_.substr(1, host_.size() - 2);
  std::string port = address.substr(colon + 1);
  bool digits = !port.empty() && port.size() < 6 &&
                port.find_first_not_of("0123456789") == std::string::npos;
  port_ = digits ? std::stoi(port) : 0;
  if (port_ < 1 || port_ > 65535)
    bad_address(to, "\"" + port + "\" is no port");
}

std::string coordinator_client::url() const {
  bool v6 = host_.find(':') != std::string::npos;
  return "http://" + (v6 ? "[" + host_ + "]" : host_) + ":" +
         std::to_string(port_);
}

void coordinator_client::unreachable(const std::string& why) const {
  std::string hint = "is the coordinator running?";
  std::error_code ignored;
  if (!run_directory_.empty() &&
      std::filesystem::exists(run_directory_ + "/report.json", ignored))
    hint = "the run has ended, see " + run_directory_ + "/report.json";
  throw ballast_error(errc::unreachable, "no coordinator answers at " + url() +
                                             " (" + why + "); " + hint);
}

coordinator_client::reply
coordinator_client::get(const std::string& path) const {
  httplib::Client http(host_, port_);
  http.set_connection_timeout(connect_timeout_s);
  http.set_read_timeout(reply_timeout_s);
  auto result = [&] {
    long_wait told(url());
    return http.Get(path.c_str());
  }();
  if (!result)
    unreachable(to_text(result.error()));
  return {result->status, parse_body(url(), result->body)};
}

coordinator_client::reply
coordinator_client::post(const std::string& path,
                         const std::string& body) const {
  httplib::Client http(host_, port_);
  http.set_connection_timeout(connect_timeout_s);
  http.set_read_timeout(reply_timeout_s);
  http.set_write_timeout(reply_timeout_s);
  auto result = [&] {
    long_wait told(url());
    return http.Post(path.c_str(), body, "application/json");
  }();
  // Sent, but not answered: it may be in the socket buffer of a stopped
  // process.
  if (!result && result.error() == httplib::Error::Read)
    unreachable(to_text(result.error()) +
                "; the request may still take effect later");
  if (!result)
    unreachable(to_text(result.error()));
  return {result->status, parse_body(url(), result->body)};
}

void coordinator_client::stream(
    const std::string& path,
    const std::function<bool(const std::string&)>& take) const {
  httplib::Client http(host_, port_);
  http.set_connection_timeout(connect_timeout_s);
  http.set_read_timeout(silence_timeout_s);
  std::string pending;
  int status = 0;
  bool enough = false;
  auto begin = [&status](const httplib::Response& response) {
    status = response.status;
    return true;
  };
  auto receive = [&](const char* data, size_t size) {
    pending.append(data, size);
    size_t line = 0;
    for (size_t end; (end = pending.find('\n', line)) != std::string::npos;
         line = end + 1) {
      std::string text = pending.substr(line, end - line);
      if (status == 200 && text.rfind("data: ", 0) == 0 &&
          !take(text.substr(6))) {
        enough = true;
        return false;
      }
    }
    pending.erase(0, line);
    return pending.size() < event_bytes_max;
  };
  auto result = http.Get(path.c_str(), begin, receive);
  if (status != 0 && status != 200) {
    json body = json::parse(pending, nullptr, false);
    std::string why = "HTTP status " + std::to_string(status);
    if (body.is_object() && body.contains("error"))
      why = body["error"].value("message", why);
    throw ballast_error(errc::unreachable, url() + path + ": " + why);
  }
  if (!result && !enough && status == 0)
    unreachable(to_text(result.error()));
}

} // namespace ballast::cli
