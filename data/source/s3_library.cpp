#include "data/source/s3_library.hpp"

#include "data/source/stream_file.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/config.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/util/config.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <any>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <vector>

namespace ballast::data {

namespace {

/// What the SDK takes for passing (no connection, 500, 503, throttling), six
/// times in some six seconds. Arrow's own strategy gives up at once unless
/// there is no connection.
class some_retries : public arrow::fs::S3RetryStrategy {
public:
  bool ShouldRetry(const AWSErrorDetail& error, int64_t attempts) override {
    constexpr int64_t retries_max = 6;
    return error.should_retry && attempts < retries_max;
  }
  int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail& /*error*/,
                                        int64_t attempts) override {
    constexpr int64_t first_ms = 100;
    return first_ms << std::clamp<int64_t>(attempts, 0, 5);
  }
};

std::vector<std::filesystem::path> places_of_library() {
  const std::string name = "libarrow_s3.so." ARROW_SO_VERSION;
  std::vector<std::filesystem::path> out;
  // Beside Arrow itself, wherever the linker found that, and the program.
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void*>(&arrow::GetBuildInfo), &about) != 0)
    out.push_back(std::filesystem::path(about.dli_fname).parent_path() / name);
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!program.empty())
    out.push_back(program.parent_path() / name);
  return out;
}

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

} // namespace

void load_s3(const std::string& pointer) {
  static std::mutex mutex;
  static bool loaded = false;
  const std::lock_guard lock(mutex);
  if (loaded)
    return;
  std::string searched;
  std::string words;
  for (const std::filesystem::path& place : places_of_library()) {
    searched += (searched.empty() ? "" : ", ") + place.string();
    if (!std::filesystem::exists(place))
      continue;
    const arrow::Status status =
        arrow::fs::LoadFileSystemFactories(place.c_str());
    if (status.ok()) {
      loaded = true;
      return;
    }
    words = " (" + words_of(status) + ")";
  }
  throw ballast_error(errc::not_in_build,
                      "s3:// needs Arrow's library for S3, which was not found "
                      "at " +
                          printable(searched) + words +
                          "; it comes with Arrow: ./dev setup",
                      pointer);
}

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>>
open_s3(const std::string& uri, std::string* path) {
  auto out = arrow::fs::FileSystemFromUriAndOptions(
      uri,
      {{"retry_strategy", std::any(std::shared_ptr<arrow::fs::S3RetryStrategy>(
                              std::make_shared<some_retries>()))}},
      path);
  // The library begins its work with its first store. What is registered after
  // that runs before its destructors, which crash while it works.
  static const int at_exit = std::atexit([] { arrow::fs::EnsureFinalized(); });
  (void)at_exit;
  return out;
}

failure explain_remote(const arrow::Status& status, const std::string& name,
                       const std::string& pointer) {
  const std::string& message = status.message();
  const std::string error = aws_error_of(message);
  const std::string begin = printable(name) + ": ";
  if (has_any(error, {"ACCESS_DENIED", "ACCESS_KEY", "SIGNATURE", "TOKEN",
                      "CREDENTIALS", "UNRECOGNIZED_CLIENT", "EXPIRED"}) ||
      has_any(message, {"HTTP status 403", "HTTP status 401"}))
    return {errc::invalid_data,
            begin + "access is denied (" + error +
                "); check the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE, or "
                "the role of the machine) and that they may read this bucket",
            pointer};
  if (has_any(error, {"NO_SUCH_BUCKET"}) || has_any(message, {"Bucket '"}))
    return {errc::invalid_data,
            begin + "there is no such bucket; check its name, region and "
                    "endpoint_override",
            pointer};
  if (has_any(error, {"NO_SUCH_KEY", "RESOURCE_NOT_FOUND"}) ||
      arrow::internal::ErrnoFromStatus(status) == ENOENT)
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
              words_of(status) +
              "); check the network and, if given, endpoint_override, and try "
              "again",
          pointer};
}

} // namespace ballast::data
