/// Rows of an Arrow Flight server: a path or a command that it lists, or, of
/// Flight SQL, the answer to a query. The endpoints of the flight are read side
/// by side and handed on in their order; that order, and not the number of
/// connections, decides the order of the rows.
///
/// A Flight server has no snapshot that could be named: the identity is a hash
/// of all rows, which are read for it. Tickets and endpoints are no part of it,
/// as they change with every call.
///
/// Errors: ballast_error{invalid_job} for a wrong spec; {unreachable} after
/// four attempts and {invalid_data} with the endpoint and its server;
/// {stopped}. No secret is in any of them. One owner, one thread; connections
/// are read by threads of the stream's own.
#pragma once

#include "data/source/database_stream.hpp"

#include <chrono>
#include <memory>

namespace ballast::data {

enum class flight_kind : uint8_t { flight, sql };

struct flight_request : database_request {
  /// Without a message of the server's.
  std::chrono::milliseconds patience{60'000};
};

constexpr size_t flight_endpoints_max = 65'536;

/// `spec.query` is the command of a `flight` and the query of an `sql`.
std::unique_ptr<database_stream> open_flight(const database_spec& spec,
                                             flight_kind kind,
                                             const flight_request& request);

/// "localhost:8815/people", for messages and lists.
std::string name_of_flight(const database_spec& spec,
                           const std::string& pointer);

} // namespace ballast::data
