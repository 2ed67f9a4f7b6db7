#include "data/source/database_place.hpp"

#include "data/source/database_stream.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

constexpr size_t uri_bytes_max = 4096;
constexpr size_t password_bytes_max = 4096;

[[noreturn]] void refuse_uri(const std::string& why,
                             const std::string& pointer) {
  throw ballast_error(errc::invalid_job,
                      why + "; expected postgresql://USER@HOST:PORT/DATABASE, "
                            "sqlite:///PATH/FILE.db or grpc://HOST:PORT",
                      pointer);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text, const std::string& pointer) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0))
      refuse_uri("the URI has a % that no two hex digits follow; a % itself is "
                 "written %25",
                 pointer);
    out += char(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string percent_encoded(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                       c == '.';
    if (plain)
      out += c;
    else
      (out += '%', out += digits[(unsigned char)c >> 4],
       out += digits[(unsigned char)c & 15]);
  }
  return out;
}

using uri_parameters = std::vector<std::pair<std::string, std::string>>;

uri_parameters parameters_of(std::string_view text,
                             const std::string& pointer) {
  uri_parameters out;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      refuse_uri("a parameter of the URI has no value", pointer);
    out.emplace_back(percent_decoded(one.substr(0, equals), pointer),
                     percent_decoded(one.substr(equals + 1), pointer));
    if (out.back().first.find("password") != std::string::npos)
      refuse_password_in_uri(pointer);
  }
  return out;
}

// HOST or HOST:PORT, or several with commas between; [::1]:5432.
std::string hosts_without_ports(std::string_view text,
                                const std::string& pointer) {
  std::string out;
  while (!text.empty()) {
    std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const size_t bracket = one.find(']');
    const size_t colon =
        one.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos) {
      const std::string_view port = one.substr(colon + 1);
      // Not quoted: it may be the half of a password with a slash in it.
      if (port.size() > 5 ||
          port.find_first_not_of("0123456789") != std::string_view::npos)
        refuse_uri("the port in the URI is no number", pointer);
      one = one.substr(0, colon);
    }
    out += (out.empty() ? "" : ",") + percent_decoded(one, pointer);
  }
  return out;
}

database_place postgres_place(const std::string& uri, std::string_view rest,
                              const std::string& pointer) {
  const size_t question = rest.find('?');
  uri_parameters parameters;
  if (question != std::string_view::npos)
    parameters = parameters_of(rest.substr(question + 1), pointer);
  rest = rest.substr(0, question);
  const size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  const std::string_view path = slash == std::string_view::npos
                                    ? std::string_view{}
                                    : rest.substr(slash + 1);
  // A slash or an @ within a password moves what comes behind it.
  if (path.find('@') != std::string_view::npos)
    refuse_password_in_uri(pointer);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (authority.substr(0, at).find_first_of(":@") != std::string_view::npos)
      refuse_password_in_uri(pointer);
    authority = authority.substr(at + 1);
  }
  std::string host = hosts_without_ports(authority, pointer);
  std::string database = percent_decoded(path, pointer);
  for (const auto& [key, value] : parameters) {
    if (key == "host" || (key == "hostaddr" && host.empty()))
      host = value;
    else if (key == "dbname")
      database = value;
  }
  if (database.empty())
    refuse_uri("the URI names no database", pointer);
  database_place out;
  out.kind = database_kind::postgresql;
  out.uri = uri;
  out.name = printable(host.empty() ? "localhost" : host, 255) + "/" +
             printable(database, 64);
  return out;
}

database_place sqlite_place(std::string_view rest, const std::string& pointer) {
  if (rest.starts_with("//"))
    rest.remove_prefix(2);
  while (rest.starts_with("//")) // as others write an absolute path
    rest.remove_prefix(1);
  database_place out;
  out.kind = database_kind::sqlite;
  out.path = percent_decoded(rest, pointer);
  if (out.path.empty() || out.path.starts_with(":memory:"))
    refuse_uri("the URI names no file", pointer);
  out.name = printable(out.path);
  return out;
}

std::string password_in_file(const std::string& path,
                             const std::string& pointer) {
  std::ifstream file(path, std::ios::binary);
  std::string text(password_bytes_max + 2, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(file.gcount()));
  if (text.empty())
    throw ballast_error(
        errc::invalid_job,
        printable(path) + ": no password can be read from this file", pointer);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.pop_back();
  return text;
}

} // namespace

void refuse_password_in_uri(const std::string& pointer) {
  throw ballast_error(
      errc::invalid_job,
      "the URI holds a password, which would end in logs and in the run "
      "directory: take it out, put it into an environment variable or a file, "
      "and name that one in password_env or password_file",
      pointer);
}

database_place place_of_database(const std::string& uri,
                                 const std::string& pointer) {
  if (uri.size() > uri_bytes_max)
    refuse_uri("the URI is longer than " + std::to_string(uri_bytes_max) +
                   " bytes",
               pointer);
  const std::string_view text = uri;
  for (const std::string_view scheme : {"postgresql://", "postgres://"})
    if (text.starts_with(scheme))
      return postgres_place(uri, text.substr(scheme.size()), pointer);
  if (text.starts_with("sqlite:"))
    return sqlite_place(text.substr(7), pointer);
  refuse_uri("the URI is of no known database", pointer);
}

std::string password_of(const database_spec& spec, const std::string& pointer) {
  if (!spec.password_env.empty() && !spec.password_file.empty())
    throw ballast_error(errc::invalid_job,
                        "expected password_env or password_file, found both",
                        pointer + "/password_file");
  std::string out;
  std::string at;
  if (!spec.password_env.empty()) {
    at = pointer + "/password_env";
    const char* value = std::getenv(spec.password_env.c_str());
    if (!value)
      throw ballast_error(errc::invalid_job,
                          "the environment variable " +
                              printable(spec.password_env, 64) +
                              " is not set: export the password in it",
                          at);
    out = value;
  } else if (!spec.password_file.empty()) {
    at = pointer + "/password_file";
    out = password_in_file(spec.password_file, at);
  }
  if (out.size() > password_bytes_max || out.find('\0') != std::string::npos)
    throw ballast_error(errc::invalid_job,
                        "the password is longer than " +
                            std::to_string(password_bytes_max) +
                            " bytes, or is no text",
                        at);
  return out;
}

std::string uri_with(const database_place& place, const std::string& password) {
  std::string out = place.uri;
  auto add = [&](const std::string& name, const std::string& value) {
    out +=
        (out.find('?') == std::string::npos ? "?" : "&") + name + "=" + value;
  };
  if (out.back() == '?')
    out.pop_back();
  // A server whose host is gone says nothing: after a minute it is given up.
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{
           {"connect_timeout", "10"},
           {"keepalives_idle", "20"},
           {"keepalives_interval", "10"},
           {"keepalives_count", "4"},
           {"tcp_user_timeout", "60000"},
           {"application_name", "ballast"}})
    if (out.find(std::string(name) + "=") == std::string::npos)
      add(name, value);
  if (!password.empty())
    add("password", percent_encoded(password));
  return out;
}

std::string without_password(std::string text, const std::string& password) {
  if (password.empty())
    return text;
  for (const std::string& form : {password, percent_encoded(password)})
    for (size_t at = text.find(form); at != std::string::npos;
         at = text.find(form, at + 3))
      text.replace(at, form.size(), "***");
  return text;
}

} // namespace ballast::data
