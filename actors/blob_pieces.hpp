/// Something large that a worker serves as a blob, fetched piece by piece, so
/// that neither side holds all of it for the other.
#pragma once

#include "data/transfer/chunk_service.hpp"

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>

namespace ballast::actors {

/// A piece has so many bytes; a shorter one, maybe empty, is the last.
constexpr uint64_t piece_bytes = uint64_t{32} << 20;

/// The name of the piece that begins with byte `at`: "model@33554432".
std::string piece_name(std::string_view blob, uint64_t at);
/// Of such a name; false: it is none.
bool read_piece_name(std::string_view name, std::string& blob, uint64_t& at);

/// The pieces of a blob, one after another; the next one is on its way while
/// the owner uses the one before. One owner, one thread. Throws ballast_error
/// of the service.
class fetched_pieces {
public:
  fetched_pieces(const std::string& address, const std::string& token,
                 std::string blob);

  /// Nothing at the end.
  std::string next();

private:
  void ask();

  const std::string blob_;
  std::unique_ptr<data::chunk_client> client_;
  uint64_t at_ = 0;
  std::future<std::string> coming_; // waits for its thread first
};

} // namespace ballast::actors
