#include "data/source/flight_place.hpp"

#include "data/source/database_place.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/util/uri.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace ballast::data {

namespace {

constexpr size_t flight_uri_bytes_max = 4096;
constexpr std::string_view ca_file_field = "tls_ca_file_path";
constexpr std::array<std::pair<std::string_view, bool>, 3> flight_schemes{
    {{"grpc://", false}, {"grpc+tcp://", false}, {"grpc+tls://", true}}};

[[noreturn]] void refuse_flight_uri(const std::string& why,
                                    const std::string& pointer) {
  throw ballast_error(errc::invalid_job,
                      why + "; expected grpc://HOST:PORT/PATH or "
                            "grpc+tls://USER@HOST:PORT/PATH",
                      pointer);
}

/// HOST:PORT, or [::1]:PORT.
void check_flight_host(std::string_view text, const std::string& pointer) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']'))
    refuse_flight_uri("the URI names no port", pointer);
  if (colon == 0)
    refuse_flight_uri("the URI names no host", pointer);
  const std::string_view port = text.substr(colon + 1);
  uint16_t number = 0;
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), number);
  // Not quoted: it may be the half of a password with a slash in it.
  if (error != std::errc{} || end != port.data() + port.size() || number == 0)
    refuse_flight_uri("the port in the URI is none of 1 to 65535", pointer);
}

void read_flight_query(std::string_view text, flight_place& out,
                       const std::string& pointer) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::string_view field = one.substr(0, one.find('='));
    if (field != ca_file_field || field.size() == one.size())
      refuse_flight_uri("the field '" + printable(field, 40) +
                            "' of the URI's query is not allowed, only " +
                            std::string(ca_file_field) + "=FILE",
                        pointer);
    out.tls_ca_file = arrow::util::UriUnescape(one.substr(field.size() + 1));
  }
  if (!out.tls_ca_file.empty() && !out.tls)
    refuse_flight_uri(std::string(ca_file_field) + " goes with grpc+tls://",
                      pointer);
}

// Fields of protobuf: a key of number and kind, here always bytes.
void put_bytes_field(std::string& to, char number, std::string_view bytes) {
  to += char(number << 3 | 2);
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7)
    to += char((size & 0x7F) | 0x80);
  to += char(size);
  to += bytes;
}

} // namespace

bool is_flight(const std::string& uri) {
  return std::any_of(
      flight_schemes.begin(), flight_schemes.end(),
      [&](const auto& one) { return uri.starts_with(one.first); });
}

flight_place place_of_flight(const std::string& uri,
                             const std::string& pointer) {
  if (uri.size() > flight_uri_bytes_max || !is_utf8(uri) ||
      uri.find('\0') != std::string::npos)
    refuse_flight_uri("the URI is longer than " +
                          std::to_string(flight_uri_bytes_max) +
                          " bytes, or is no text",
                      pointer);
  flight_place out;
  std::string_view rest;
  for (const auto& [scheme, tls] : flight_schemes)
    if (uri.starts_with(scheme)) {
      rest = std::string_view(uri).substr(scheme.size());
      out.tls = tls;
    }
  if (rest.data() == nullptr)
    refuse_flight_uri("the URI is of no Flight server", pointer);
  const size_t question = rest.find('?');
  if (question != std::string_view::npos)
    read_flight_query(rest.substr(question + 1), out, pointer);
  rest = rest.substr(0, question);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view host = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  // A slash or an @ within a password moves what comes behind it.
  if (path.find('@') != std::string_view::npos)
    refuse_password_in_uri(pointer);
  if (const size_t at = host.rfind('@'); at != std::string_view::npos) {
    if (host.substr(0, at).find_first_of(":@") != std::string_view::npos)
      refuse_password_in_uri(pointer);
    out.user = arrow::util::UriUnescape(host.substr(0, at));
    host.remove_prefix(at + 1);
  }
  check_flight_host(host, pointer);
  out.name = printable(host, 300);
  out.location = (out.tls ? "grpc+tls://" : "grpc+tcp://") + std::string(host);
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view one = path.substr(0, path.find('/'));
    path.remove_prefix(one.size());
    if (!one.empty() || !path.empty())
      out.path.push_back(arrow::util::UriUnescape(one));
  }
  return out;
}

std::string statement_command(const std::string& query) {
  std::string statement;
  put_bytes_field(statement, 1, query);
  std::string out;
  put_bytes_field(out, 1,
                  "type.googleapis.com/"
                  "arrow.flight.protocol.sql.CommandStatementQuery");
  put_bytes_field(out, 2, statement);
  return out;
}

} // namespace ballast::data
