/// The parts of a URI of a remote store, checked. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ballast::data {

struct remote_uri {
  std::string scheme;    // "s3"
  std::string authority; // bucket, or host
  std::string key;       // decoded, without its first slash; may be a pattern
  std::string query;     // as written, without its question mark
  /// "s3://bucket"; who asks is no part of it.
  std::string place() const;
  std::string name() const { return place() + "/" + key; }
};

/// Throws ballast_error{invalid_data} for a URI without a bucket, with
/// credentials, or with a field of the query that is not known. A question mark
/// begins the query only before "word=", as it is part of a pattern, too.
remote_uri parse_remote_uri(const std::string& uri, const std::string& pointer);

} // namespace ballast::data
