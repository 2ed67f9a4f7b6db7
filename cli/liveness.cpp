#include "cli/liveness.hpp"

#include "runtime/base/json_text.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace ballast::cli {

bool liveness_socket::send(const nlohmann::json& line) {
  std::string text = json_text(line) + "\n";
  std::lock_guard lock(sending_);
  for (size_t sent = 0; sent < text.size();) {
    ssize_t n = ::send(descriptor(), text.data() + sent, text.size() - sent,
                       MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    sent += size_t(n);
  }
  return true;
}

bool liveness_socket::take_line(std::string& line) {
  size_t end = received_.find('\n');
  if (end == std::string::npos)
    return false;
  line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return true;
}

nlohmann::json liveness_socket::receive() {
  std::string line;
  while (!take_line(line)) {
    char buffer[65536];
    ssize_t n = ::recv(descriptor(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return nullptr;
    received_.append(buffer, size_t(n));
  }
  return nlohmann::json::parse(line, nullptr, false);
}

nlohmann::json liveness_socket::poll(bool& closed) {
  closed = false;
  std::string line;
  while (!take_line(line)) {
    char buffer[65536];
    ssize_t n = ::recv(descriptor(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return nullptr;
    if (n <= 0) {
      closed = true;
      return nullptr;
    }
    received_.append(buffer, size_t(n));
  }
  return nlohmann::json::parse(line, nullptr, false);
}

nlohmann::json to_json(const std::string& name, const process_end& how) {
  nlohmann::json out{{"name", name}, {"words", how.words}};
  if (how.how == process_end::kind::exited)
    out["code"] = how.number;
  if (how.how == process_end::kind::killed)
    out["signal"] = how.number;
  return out;
}

process_end process_end_of(const nlohmann::json& line) {
  process_end out{process_end::kind::not_started, 0, line.value("words", "")};
  if (line.contains("code"))
    out = {process_end::kind::exited, line.value("code", 0), out.words};
  else if (line.contains("signal"))
    out = {process_end::kind::killed, line.value("signal", 0), out.words};
  return out;
}

} // namespace ballast::cli
