#include "monitor/http/http_intake.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace ballast::monitor {

namespace {

/// Of the line with the length of a chunk.
constexpr size_t chunk_line_bytes_max = 256;

std::string_view trimmed(std::string_view text) {
  auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && blank(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return out;
}

bool read_number(std::string_view text, int base, uint64_t& out) {
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, out, base);
  return error == std::errc() && rest == end && !text.empty();
}

} // namespace

void http_intake::refuse(int status, std::string why) {
  state_ = state::refused;
  status_ = status;
  why_ = std::move(why);
}

std::string_view http_intake::target() const {
  if (state_ == state::header || state_ == state::refused)
    return {};
  const std::string_view line =
      std::string_view(text_).substr(0, text_.find('\n'));
  const size_t begin = line.find(' ');
  if (begin == std::string_view::npos)
    return {};
  const size_t end = line.find(' ', begin + 1);
  return line.substr(begin + 1,
                     end == std::string_view::npos ? end : end - begin - 1);
}

bool http_intake::take_expectation() {
  return state_ == state::body && std::exchange(expects_, false);
}

http_intake::state http_intake::take(std::string_view bytes) {
  if (state_ == state::whole || state_ == state::refused)
    return state_;
  text_.append(bytes);
  while (state_ == state::header && take_header_line()) {
  }
  while (state_ == state::body && chunked_ && take_chunk()) {
  }
  if (state_ == state::body && !chunked_ && text_.size() >= end_) {
    text_.resize(end_);
    state_ = state::whole;
  }
  return state_;
}

/// True if another line may follow.
bool http_intake::take_header_line() {
  const size_t end = text_.find('\n', at_);
  const size_t line_bytes =
      (end == std::string::npos ? text_.size() : end) - at_;
  if (line_bytes > limits_.line_bytes_max)
    refuse(431, "a line of the header is longer than " +
                    std::to_string(limits_.line_bytes_max) + " bytes");
  else if (at_ + line_bytes > limits_.header_bytes_max)
    refuse(431, "the header is longer than " +
                    std::to_string(limits_.header_bytes_max) + " bytes");
  else if (lines_ > limits_.headers_max)
    refuse(431, "the request has more than " +
                    std::to_string(limits_.headers_max) + " headers");
  if (state_ == state::refused || end == std::string::npos)
    return false;
  const std::string_view line =
      trimmed(std::string_view(text_).substr(at_, line_bytes));
  at_ = end + 1;
  if (line.empty()) {
    header_is_complete();
    return false;
  }
  const size_t colon = line.find(':');
  if (lines_++ > 0 && colon != std::string_view::npos)
    take_header(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  return state_ == state::header;
}

void http_intake::take_header(std::string_view name, std::string_view value) {
  const std::string field = lower(name);
  if (field == "content-length") {
    if (!read_number(value, 10, body_bytes_))
      refuse(400, "Content-Length is no number");
  } else if (field == "transfer-encoding") {
    chunked_ = lower(value) == "chunked";
  } else if (field == "expect") {
    expects_ = lower(value) == "100-continue";
  }
}

void http_intake::header_is_complete() {
  if (chunked_)
    body_bytes_ = 0;
  if (body_bytes_ > limits_.body_bytes_max)
    return refuse(413, "the body is larger than " +
                           std::to_string(limits_.body_bytes_max) + " bytes");
  end_ = at_ + body_bytes_;
  state_ = state::body; // `take` checks whether it is complete
}

/// True if another chunk may follow.
bool http_intake::take_chunk() {
  const size_t end = text_.find('\n', at_);
  if (end == std::string::npos) {
    if (text_.size() - at_ > chunk_line_bytes_max)
      refuse(400, "a chunk of the body has no length");
    return false;
  }
  const std::string_view line =
      trimmed(std::string_view(text_).substr(at_, end - at_));
  if (last_chunk_) { // a trailer, or the end
    at_ = end + 1;
    if (at_ > limits_.body_bytes_max * 2 + limits_.header_bytes_max)
      refuse(431, "the trailers of the body are too long");
    else if (line.empty())
      state_ = state::whole;
    return state_ == state::body;
  }
  uint64_t bytes = 0;
  if (!read_number(line.substr(0, line.find(';')), 16, bytes)) {
    refuse(400, "a chunk of the body has no length");
    return false;
  }
  if (bytes > limits_.body_bytes_max ||
      body_bytes_ + bytes > limits_.body_bytes_max) {
    refuse(413, "the body is larger than " +
                    std::to_string(limits_.body_bytes_max) + " bytes");
    return false;
  }
  if (bytes == 0) {
    last_chunk_ = true;
    at_ = end + 1;
    return true;
  }
  // Including the line end after it.
  const size_t next = text_.find('\n', std::min(end + 1 + bytes, text_.size()));
  if (next == std::string::npos) {
    if (text_.size() > end + 1 + bytes + 2)
      refuse(400, "a chunk of the body is longer than it says");
    return false;
  }
  if (next > end + 1 + bytes + 1) {
    refuse(400, "a chunk of the body is longer than it says");
    return false;
  }
  body_bytes_ += bytes;
  at_ = next + 1;
  // Many small chunks cost more than their bytes.
  if (at_ > limits_.body_bytes_max * 2 + limits_.header_bytes_max) {
    refuse(413, "the chunks of the body are too many");
    return false;
  }
  return true;
}

} // namespace ballast::monitor
