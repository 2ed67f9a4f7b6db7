/// Where a database is, out of a job's URI, and the secret that opens it. A URI
/// is never quoted in an error: who writes a password into it by mistake is
/// told so, and must not find it in a log.
///
/// Errors: ballast_error{invalid_job} at the field. Any thread.
#pragma once

#include "data/source/adbc_driver.hpp"

#include <string>

namespace ballast::data {

struct database_spec;

struct database_place {
  database_kind kind{};
  std::string uri;  // PostgreSQL: as libpq takes it, without a password
  std::string path; // SQLite: the file
  std::string name; // for messages: HOST/DATABASE, or the file
};

/// postgresql://user@host:5432/database?sslmode=require, sqlite:///a/file.db,
/// sqlite:a/file.db.
database_place place_of_database(const std::string& uri,
                                 const std::string& pointer);

/// The password that the spec's environment variable or file holds; empty if it
/// names none.
std::string password_of(const database_spec& spec, const std::string& pointer);

/// Of a place whose URI has one: ballast_error{invalid_job} that says where it
/// belongs.
[[noreturn]] void refuse_password_in_uri(const std::string& pointer);

/// The URI for the driver: with the password, and with limits that end a
/// connection to a server that is gone.
std::string uri_with(const database_place& place, const std::string& password);

/// `text` without the password, however it is written.
std::string without_password(std::string text, const std::string& password);

} // namespace ballast::data
