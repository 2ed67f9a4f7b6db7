/// Something large that a worker serves as a blob, fetched piece by piece, so
/// that neither side holds all of it for the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ballast::actors {

/// A piece has so many bytes; a shorter one, maybe empty, is the last.
constexpr uint64_t piece_bytes = uint64_t{32} << 20;

/// The name of the piece that begins with byte `at`: "model@33554432".
std::string piece_name(std::string_view blob, uint64_t at);
/// Of such a name; false: it is none.
bool read_piece_name(std::string_view name, std::string& blob, uint64_t& at);

} // namespace ballast::actors
