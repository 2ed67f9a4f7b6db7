#include "runtime/job/source_uri.hpp"

#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

namespace ballast {

using nlohmann::json;

std::vector<source_spec*> sources_of_standard_input(job& what) {
  std::vector<source_spec*> out;
  const auto look = [&out](source_spec& one) {
    if (one.uri == standard_input)
      out.push_back(&one);
  };
  look(what.data.train);
  if (what.data.test)
    look(*what.data.test);
  for (auto& [name, source] : what.data.sources)
    look(source);
  return out;
}

/// What stands before an @ there is no secret: a container, nobody, a user
/// without a password.
static bool is_public(const std::string& scheme, const std::string& host) {
  if (scheme == "abfs" || scheme == "abfss")
    return true;
  if (scheme == "gs" || scheme == "gcs")
    return host.starts_with("anonymous@");
  return scheme == "hdfs" && host.find(':') >= host.find('@');
}

/// Of a text of the shape SCHEME://...: whether it can be a source.
static failure check_uri(const field& of, const std::string& pointer,
                         const std::string& text) {
  size_t end = text.find("://");
  if (end == std::string::npos || text.rfind("file:///", 0) == 0)
    return {};
  const std::string scheme = text.substr(0, end);
  const std::string host =
      text.substr(end + 3, text.find('/', end + 3) - (end + 3));
  // A job is kept, shown and sent around.
  if (host.find('@') != std::string::npos && !is_public(scheme, host))
    return {of.mistake,
            pointer + ": a URI of a job holds no user and no password; give "
                      "them by the environment, such as AWS_ACCESS_KEY_ID and "
                      "AWS_SECRET_ACCESS_KEY",
            pointer};
  for (const char* known : {"s3", "gs", "gcs", "abfs", "abfss", "hdfs"})
    if (scheme == known)
      return {};
  return {of.mistake,
          pointer +
              ": expected a path, a glob or a URI like "
              "file:///folder/name.csv or s3://bucket/name.csv, found " +
              json_text(json(text)),
          pointer};
}

static failure check_place(const field& of, const std::string& pointer,
                           const std::string& text) {
  const auto refuse = [&](const std::string& expected) -> failure {
    return {of.mistake,
            pointer + ": expected " + expected + ", found " +
                json_text(json(text)),
            pointer};
  };
  const std::string address = text.substr(0, text.find('?'));
  if (address.find_first_of("*[") != std::string::npos)
    return refuse("one folder to write to, not a pattern");
  const size_t end = text.find("://");
  if (end == std::string::npos || text.starts_with("file:///"))
    return {};
  if (failure mistake = check_uri(of, pointer, text))
    return mistake.message.find("expected a path") == std::string::npos
               ? mistake
               : refuse("a folder, or the URI of one, like "
                        "s3://BUCKET/FOLDER or gs://BUCKET/FOLDER");
  const size_t slash = address.find('/', end + 3);
  if (slash == end + 3 || slash == std::string::npos ||
      address.find_first_not_of('/', slash) == std::string::npos)
    return refuse("a bucket and a folder in it, like " + text.substr(0, end) +
                  "://BUCKET/FOLDER");
  if (address.ends_with('/'))
    return refuse("the address without a slash at its end");
  return {};
}

failure check_address(const field& of, const std::string& pointer,
                      const std::string& text) {
  return of.text == text_kind::place ? check_place(of, pointer, text)
                                     : check_uri(of, pointer, text);
}

} // namespace ballast
