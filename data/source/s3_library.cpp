#include "data/source/s3_library.hpp"

#include "data/source/stream_file.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/config.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/io/type_fwd.h>
#include <arrow/util/config.h>

#include <algorithm>
#include <any>
#include <array>
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

/// Requests that wait for the store, each on a thread of Arrow's: what a line
/// of 1 Gbit/s and 100 ms holds, in pieces of 1 MiB, and many small questions.
/// The store's client has as many connections.
static void allow_many_requests() {
  constexpr int requests = 24;
  if (arrow::io::GetIOThreadPoolCapacity() < requests)
    (void)arrow::io::SetIOThreadPoolCapacity(requests);
}

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>>
open_s3(const std::string& uri, std::string* path) {
  allow_many_requests();
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

} // namespace ballast::data
