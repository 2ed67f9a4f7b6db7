/// Receives the bytes of one HTTP request and decides when it is complete or
/// invalid. It knows only as much of HTTP as it takes to find the end of a
/// request; the server parses the complete text again. No socket, no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ballast::monitor {

struct intake_limits {
  size_t line_bytes_max = 8192;    // of the request line and of each header
  size_t header_bytes_max = 32768; // of all headers together
  size_t headers_max = 100;
  size_t body_bytes_max = 1 << 20;
};

class http_intake {
public:
  enum class state : uint8_t { header, body, whole, refused };

  explicit http_intake(intake_limits limits) : limits_(limits) {}

  /// Bytes after a complete request are dropped: a connection has one.
  state take(std::string_view bytes);
  state now() const { return state_; }

  /// The request as received so far.
  const std::string& text() const { return text_; }
  /// The target of the request line; empty before the header is complete.
  std::string_view target() const;
  /// The client waits for "100 Continue" before it sends the body. True once.
  bool take_expectation();

  /// Of a refused one: 400, 413 or 431, and the reason.
  int status() const { return status_; }
  const std::string& why() const { return why_; }

private:
  bool take_header_line();
  void header_is_complete();
  void take_header(std::string_view name, std::string_view value);
  bool take_chunk();
  void refuse(int status, std::string why);

  intake_limits limits_;
  state state_ = state::header;
  std::string text_;
  size_t at_ = 0; // begin of the line or chunk to be received
  size_t lines_ = 0;
  bool chunked_ = false;
  bool last_chunk_ = false; // trailers follow
  bool expects_ = false;
  uint64_t body_bytes_ = 0; // announced, or of all chunks so far
  size_t end_ = 0;          // of the complete request, without chunks
  int status_ = 0;
  std::string why_;
};

} // namespace ballast::monitor
