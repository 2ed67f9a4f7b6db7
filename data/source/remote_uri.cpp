#include "data/source/remote_uri.hpp"

#include "data/source/file_system.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/util/uri.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace ballast::data {

namespace {

[[noreturn]] void refuse_uri(const std::string& uri, const std::string& why,
                             const std::string& pointer) {
  throw ballast_error(errc::invalid_data,
                      printable(without_secrets(uri)) + ": " + why, pointer);
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           c == '-';
  });
}

/// Where the query begins; npos: there is none.
size_t query_of(std::string_view text) {
  for (size_t at = text.find('?'); at != std::string_view::npos;
       at = text.find('?', at + 1)) {
    const size_t equals = text.find('=', at);
    if (equals != std::string_view::npos &&
        is_word(text.substr(at + 1, equals - at - 1)))
      return at;
  }
  return std::string_view::npos;
}

// What a job may say about a store; everything else is the machine's business.
constexpr std::array<std::string_view, 6> s3_fields{
    "endpoint_override",        "scheme",           "region",
    "force_virtual_addressing", "tls_ca_file_path", "smart_defaults"};
constexpr std::array<std::string_view, 8> other_fields{"endpoint_override",
                                                       "scheme",
                                                       "retry_limit_seconds",
                                                       "project_id",
                                                       "replication",
                                                       "buffer_size",
                                                       "blob_storage_authority",
                                                       "dfs_storage_authority"};

std::string place_of_credentials(const std::string& scheme) {
  if (scheme == "gs" || scheme == "gcs")
    return "GOOGLE_APPLICATION_CREDENTIALS=FILE, or the account of the "
           "machine; gs://anonymous@BUCKET needs none";
  if (scheme == "s3")
    return "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), ~/.aws/credentials, or "
           "a role of the machine";
  return "as this store's own programs take them";
}

void check_query(const std::string& uri, const remote_uri& parts,
                 const std::string& pointer) {
  const auto known = [&](std::string_view field) {
    return parts.scheme == "s3"
               ? std::find(s3_fields.begin(), s3_fields.end(), field) !=
                     s3_fields.end()
               : std::find(other_fields.begin(), other_fields.end(), field) !=
                     other_fields.end();
  };
  std::string_view rest = parts.query;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const std::string field(one.substr(0, one.find('=')));
    if (!known(field))
      refuse_uri(uri,
                 "the field '" + printable(field, 40) +
                     "' of its query is not allowed; expected " +
                     (parts.scheme == "s3"
                          ? "endpoint_override, scheme or region"
                          : "endpoint_override") +
                     "; credentials belong into the environment",
                 pointer);
  }
}

} // namespace

std::string without_secrets(const std::string& uri) {
  const size_t begin = uri.find("://");
  if (begin == std::string::npos)
    return uri;
  std::string text = uri.substr(begin + 3);
  if (const size_t query = query_of(text); query != std::string_view::npos)
    text.resize(query);
  // Until the last @: a password may hold slashes that should be encoded.
  if (const size_t at = text.rfind('@'); at != std::string::npos)
    text = text.find('/') < at && text.find(':') > at ? text // a key with an @
                                                      : text.substr(at + 1);
  return uri.substr(0, begin + 3) + text;
}

std::string remote_uri::place() const {
  constexpr std::string_view nobody = "anonymous@";
  return scheme + "://" +
         (authority.starts_with(nobody) ? authority.substr(nobody.size())
                                        : authority);
}

remote_uri parse_remote_uri(const std::string& uri,
                            const std::string& pointer) {
  remote_uri out;
  const size_t begin = uri.find("://");
  out.scheme = uri.substr(0, begin);
  std::string text = uri.substr(begin + 3);
  if (const size_t query = query_of(text); query != std::string_view::npos) {
    out.query = text.substr(query + 1);
    text.resize(query);
  }
  const size_t slash = text.find('/');
  out.authority = text.substr(0, slash);
  const size_t at = out.authority.rfind('@');
  const std::string user =
      at == std::string::npos ? "" : out.authority.substr(0, at);
  // abfs://container@account and hdfs://user@host are no secrets, and neither
  // is gs://anonymous@bucket.
  if (at != std::string::npos && user != "anonymous" &&
      (out.scheme == "s3" || out.scheme == "gs" || out.scheme == "gcs" ||
       user.find(':') != std::string::npos))
    refuse_uri(uri,
               "holds credentials; take them out of the URI, and put them into "
               "the environment (" +
                   place_of_credentials(out.scheme) + ")",
               pointer);
  if (slash != std::string::npos &&
      text.substr(0, slash).find(':') != std::string::npos &&
      text.rfind('@') != std::string::npos && at == std::string::npos &&
      out.scheme == "s3")
    refuse_uri(uri, "holds credentials; put them into the environment",
               pointer);
  if (out.authority.find_first_of("*?[") != std::string::npos)
    refuse_uri(uri, "a pattern may only stand behind the bucket", pointer);
  if (out.authority.empty() && out.scheme != "hdfs")
    refuse_uri(uri, "names no bucket; expected " + out.scheme + "://BUCKET/KEY",
               pointer);
  if (slash != std::string::npos)
    out.key = arrow::util::UriUnescape(text.substr(slash + 1));
  if (out.key.find('\0') != std::string::npos)
    refuse_uri(uri, "the key has a NUL byte", pointer);
  if (out.key.empty() || out.key.back() == '/')
    refuse_uri(uri,
               "names no file; expected a key behind the bucket, or a pattern "
               "such as " +
                   out.scheme + "://BUCKET/FOLDER/*.parquet",
               pointer);
  check_query(uri, out, pointer);
  return out;
}

} // namespace ballast::data
