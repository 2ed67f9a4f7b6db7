/// A client's request to a chunk_service: the JSON of a Flight command. It
/// comes from the network, so decoding validates everything.
#pragma once

#include "data/store/chunk.hpp"
#include "runtime/ledger/manifest.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

/// Chunks of one part in this order, single rows of chunks, or a blob.
struct flight_ticket {
  std::string token; // of the run
  data_part part = data_part::train;
  std::vector<ledger::id_run> chunks;     // numbers below 2^32
  std::string blob;                       // name; empty: chunks or rows
  std::vector<ledger::row_ref> rows = {}; // at most rows_max
  static constexpr size_t rows_max = 65'536;
};

std::string encode(const flight_ticket& ticket);
/// nullopt and `why` if it is not a valid ticket.
std::optional<flight_ticket> decode_ticket(const std::string& text,
                                           std::string& why);

/// Compares in constant time.
bool same_token(const std::string& a, const std::string& b);

/// Metadata of the schema of single rows: the checksum of them all.
inline constexpr const char* rows_checksum_key = "ballast.rows_checksum";
/// Metadata of a blob's schema.
inline constexpr const char* blob_bytes_key = "ballast.bytes";
inline constexpr const char* blob_checksum_key = "ballast.checksum";
/// Metadata of a message whose chunk goes on in the next one.
inline constexpr const char* more_follows = "more";
/// The action that opens a channel and checks the token.
inline constexpr const char* hello_action = "hello";

} // namespace ballast::data
