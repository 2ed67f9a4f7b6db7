/// Takes the bytes of one HTTP request as they come, and says when it is whole
/// or cannot become a good one. It knows no more of HTTP than where a request
/// ends; the server reads it again as a whole. No socket, no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ballast {

struct intake_limits {
  size_t line_bytes_max = 8192;    // of the request line and of each header
  size_t header_bytes_max = 32768; // of all of them
  size_t headers_max = 100;
  size_t body_bytes_max = 1 << 20;
};

class http_intake {
public:
  enum class state : uint8_t { header, body, whole, refused };

  explicit http_intake(intake_limits limits) : limits_(limits) {}

  /// What follows a whole request is dropped: a connection has one.
  state take(std::string_view bytes);
  state now() const { return state_; }

  /// The request, as far as it has come.
  const std::string& text() const { return text_; }
  /// The target of the request line; empty before the header is complete.
  std::string_view target() const;
  /// The client waits for "100 Continue" before it sends the body. Told once.
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
  size_t at_ = 0; // begin of the line or chunk that is to come
  size_t lines_ = 0;
  bool chunked_ = false;
  bool last_chunk_ = false; // trailers follow
  bool expects_ = false;
  uint64_t body_bytes_ = 0; // claimed, or of all chunks so far
  size_t end_ = 0;          // of the whole request, without chunks
  int status_ = 0;
  std::string why_;
};

} // namespace ballast
