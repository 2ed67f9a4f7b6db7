/// An HTTP/1.1 client that sends exactly what a test says.
#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace ballast::monitor {

struct http_answer {
  int status = 0;
  std::map<std::string, std::string> headers; // lower case names
  std::string body;
};

/// One connection to a loopback port; reads are bounded by 20 s.
class http_connection {
public:
  explicit http_connection(uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval limit{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("no connection to port " + std::to_string(port));
  }
  http_connection(http_connection&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        seen_(std::move(other.seen_)) {}
  ~http_connection() {
    if (socket_ >= 0)
      ::close(socket_);
  }

  void send(const std::string& text) {
    size_t sent = 0;
    while (sent < text.size()) {
      ssize_t count =
          ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0)
        return; // refused early: the answer says why
      sent += size_t(count);
    }
  }
  /// Everything so far, once it contains `wanted` or the server has closed.
  const std::string& read_until(const std::string& wanted) {
    char block[4096];
    while (seen_.find(wanted) == std::string::npos) {
      ssize_t count = recv(socket_, block, sizeof block, 0);
      if (count <= 0)
        break;
      seen_.append(block, size_t(count));
    }
    return seen_;
  }
  const std::string& read_to_end() {
    char block[4096];
    for (ssize_t count; (count = recv(socket_, block, sizeof block, 0)) > 0;)
      seen_.append(block, size_t(count));
    return seen_;
  }

private:
  int socket_;
  std::string seen_;
};

inline http_answer parse_answer(const std::string& text) {
  http_answer out;
  if (text.size() > 12)
    out.status = std::stoi(text.substr(9, 3));
  size_t at = text.find("\r\n");
  size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos)
    return out;
  while (at < end) {
    size_t next = text.find("\r\n", at + 2);
    std::string line = text.substr(at + 2, next - at - 2);
    size_t colon = line.find(": ");
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    if (colon != std::string::npos)
      out.headers[name] = line.substr(colon + 2);
    at = next;
  }
  out.body = text.substr(end + 4);
  return out;
}

/// `headers`: whole lines with "\r\n"; Host is added unless they name one.
inline std::string http_text(const std::string& method, const std::string& path,
                             uint16_t port, const std::string& headers = {},
                             const std::string& body = {}) {
  std::string text = method + " " + path + " HTTP/1.1\r\n" + headers;
  if (headers.find("Host:") == std::string::npos)
    text += "Host: 127.0.0.1:" + std::to_string(port) + "\r\n";
  if (method == "POST" &&
      headers.find("Transfer-Encoding") == std::string::npos)
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

inline http_answer http(uint16_t port, const std::string& method,
                        const std::string& path,
                        const std::string& headers = {},
                        const std::string& body = {}) {
  http_connection connection(port);
  connection.send(http_text(method, path, port, headers, body));
  return parse_answer(connection.read_to_end());
}

} // namespace ballast::monitor
