/// The streams from which httplib reads a request and to which it writes its
/// answer, in place of a blocking socket. Includes httplib; for http_server.cpp
/// only.
#pragma once

#include <httplib.h>
#include <stop_token>
#include <string>

namespace ballast::monitor {

/// Reads a complete request from memory.
class request_stream : public httplib::Stream {
public:
  explicit request_stream(const std::string& request) : request_(request) {}

  bool is_readable() const override { return true; }
  ssize_t read(char* to, size_t bytes) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

private:
  const std::string& request_;
  size_t at_ = 0;
};

/// Collects the answer.
class answer_stream final : public request_stream {
public:
  using request_stream::request_stream;

  bool is_writable() const override { return true; }
  ssize_t write(const char* bytes, size_t count) override {
    answer.append(bytes, count);
    return ssize_t(count);
  }

  std::string answer;
};

/// Writes to a non-blocking socket until its reader is gone, accepts nothing
/// for `patience`, or the server shuts down.
class socket_stream final : public request_stream {
public:
  socket_stream(const std::string& request, int socket,
                std::chrono::milliseconds patience, std::stop_token stopping)
      : request_stream(request), socket_(socket), patience_(patience),
        stopping_(std::move(stopping)) {}

  bool is_writable() const override;
  ssize_t write(const char* bytes, size_t count) override;

private:
  int socket_;
  std::chrono::milliseconds patience_;
  std::stop_token stopping_;
};

} // namespace ballast::monitor
