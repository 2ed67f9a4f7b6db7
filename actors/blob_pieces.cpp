#include "actors/blob_pieces.hpp"

#include "runtime/base/thread_name.hpp"

#include <charconv>
#include <chrono>
#include <utility>

namespace ballast::actors {

using namespace std::chrono_literals;

std::string piece_name(std::string_view blob, uint64_t at) {
  return std::string(blob) + "@" + std::to_string(at);
}

bool read_piece_name(std::string_view name, std::string& blob, uint64_t& at) {
  const size_t sign = name.rfind('@');
  if (sign == std::string_view::npos)
    return false;
  const std::string_view number = name.substr(sign + 1);
  const auto end = number.data() + number.size();
  const auto found = std::from_chars(number.data(), end, at);
  blob = name.substr(0, sign);
  return found.ec == std::errc() && found.ptr == end;
}

fetched_pieces::fetched_pieces(const std::string& address,
                               const std::string& token, std::string blob)
    : blob_(std::move(blob)),
      client_(data::chunk_client::connect(address, token, 5s)) {
  ask();
}

std::string fetched_pieces::next() {
  if (!coming_.valid())
    return {};
  std::string out = coming_.get();
  at_ += out.size();
  if (out.size() == piece_bytes)
    ask();
  return out;
}

void fetched_pieces::ask() {
  coming_ = std::async(std::launch::async, [this, at = at_] {
    name_this_thread("bl-piece");
    return client_->fetch_blob(piece_name(blob_, at), bulk_patience);
  });
}

} // namespace ballast::actors
