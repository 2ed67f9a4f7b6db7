#include "data/source/remote_errors.hpp"

#include "data/source/stream_file.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace ballast::data {

namespace {

/// The word after "AWS Error ", such as ACCESS_DENIED.
std::string aws_error_of(const std::string& message) {
  const std::string_view mark = "AWS Error ";
  const size_t at = message.find(mark);
  if (at == std::string::npos)
    return {};
  const size_t begin = at + mark.size();
  return message.substr(begin, message.find(' ', begin) - begin);
}

bool has_any(const std::string& text,
             std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string::npos;
  });
}

/// Google's client puts its own bookkeeping around the answer.
std::string words_of_store(const arrow::Status& status) {
  std::string text = words_of(status);
  const std::string_view mark = "last message of ";
  if (text.find("google::cloud::") == std::string::npos)
    return text;
  if (const size_t at = text.find(mark); at != std::string::npos)
    text.erase(0, at + mark.size());
  return text.substr(0, text.find(" error_info="));
}

struct store_advice {
  std::string credentials;
  std::string address;
};
store_advice advice_for(const std::string& name) {
  if (name.starts_with("s3://"))
    return {"check the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE, or the "
            "role of the machine) and that they may read this bucket",
            "check the network and, if given, endpoint_override"};
  if (name.starts_with("gs://") || name.starts_with("gcs://"))
    return {"check the credentials (GOOGLE_APPLICATION_CREDENTIALS, or the "
            "account of the machine) and that they may read this bucket; one "
            "that everybody may read is gs://anonymous@BUCKET",
            "check the network and, if given, endpoint_override"};
  if (name.starts_with("hdfs://"))
    return {"check the user (hdfs://USER@HOST:PORT) and that it may read this",
            "check host and port of the name node, and the network"};
  return {"check the credentials and that they may read this",
          "check the network"};
}

bool is_denied(const std::string& error, const std::string& message) {
  return has_any(error, {"ACCESS_DENIED", "ACCESS_KEY", "SIGNATURE", "TOKEN",
                         "CREDENTIALS", "UNRECOGNIZED_CLIENT", "EXPIRED"}) ||
         has_any(message,
                 {"HTTP status 403", "HTTP status 401", "PERMISSION_DENIED",
                  "UNAUTHENTICATED", "Could not create a OAuth2 access token"});
}

} // namespace

failure explain_remote(const arrow::Status& status, const std::string& name,
                       const std::string& pointer) {
  const std::string& message = status.message();
  const std::string error = aws_error_of(message);
  const std::string begin = printable(name) + ": ";
  const store_advice advice = advice_for(name);
  const int number = arrow::internal::ErrnoFromStatus(status);
  if (is_denied(error, message) || number == EACCES)
    return {errc::invalid_data,
            begin + "access is denied (" +
                (error.empty() ? words_of_store(status) : error) + "); " +
                advice.credentials,
            pointer};
  if (has_any(error, {"NO_SUCH_BUCKET"}) || has_any(message, {"Bucket '"}))
    return {errc::invalid_data,
            begin + "there is no such bucket; check its name, region and "
                    "endpoint_override",
            pointer};
  if (has_any(error, {"NO_SUCH_KEY", "RESOURCE_NOT_FOUND"}) || number == ENOENT)
    return {errc::invalid_data, begin + "there is no such file; check the key",
            pointer};
  if (has_any(message, {"HTTP status 301", "HTTP status 307"}))
    return {errc::invalid_data,
            begin + "the bucket lies in another region; add ?region=REGION",
            pointer};
  if (status.IsInvalid() || status.IsNotImplemented() || status.IsTypeError())
    return {errc::invalid_data, begin + words_of(status), pointer};
  return {errc::unreachable,
          begin + "the store does not answer, also after some retries (" +
              words_of_store(status) + "); " + advice.address +
              ", and try again",
          pointer};
}

} // namespace ballast::data
