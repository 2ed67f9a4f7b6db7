/// Where a Flight server is, out of a job's URI. As with a database, a secret
/// in it is refused and not repeated. Pure.
///
/// Errors: ballast_error{invalid_job} at the field. Any thread.
#pragma once

#include <string>
#include <vector>

namespace ballast::data {

struct flight_place {
  std::string location; // grpc+tcp://host:port or grpc+tls://host:port
  std::string name;     // host:port, for messages
  std::string user;     // empty: none
  std::vector<std::string> path;
  std::string tls_ca_file; // certificates to trust; empty: those of the machine
  bool tls = false;
};

/// True for grpc://, grpc+tcp:// and grpc+tls://.
bool is_flight(const std::string& uri);

/// grpc://HOST:PORT/A/B, grpc+tls://USER@HOST:PORT?tls_ca_file_path=CA.pem.
flight_place place_of_flight(const std::string& uri,
                             const std::string& pointer);

/// The bytes of a Flight command that asks Flight SQL for the answer to a
/// query: a CommandStatementQuery within a google.protobuf.Any.
std::string statement_command(const std::string& query);

} // namespace ballast::data
