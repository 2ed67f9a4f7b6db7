/// Reads the parts of one result by several readers at once and hands their
/// batches on in the order of the parts, whichever comes first. What has come
/// too early waits in memory, up to a limit. Includes Arrow; for source files
/// of data/ only.
///
/// One owner, one thread; each reader has a thread of its own. The first
/// failure of any part ends all and is thrown by next().
#pragma once

#include "store/work_watch.hpp"

#include <arrow/type_fwd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ballast::data {

class ordered_parts {
public:
  using batch = std::shared_ptr<arrow::RecordBatch>;
  struct reader {
    /// Reads a part; ends early once `give` returns false.
    std::function<void(size_t part, const std::function<bool(batch)>& give)>
        read;
    /// Ends what read() waits for; any thread, more than once.
    std::function<void()> cancel;
  };

  /// `bytes_max` may be exceeded by one batch of each reader.
  ordered_parts(size_t parts, std::vector<reader> readers, int64_t bytes_max,
                store::work_watch stop);
  /// Cancels what is under way.
  ~ordered_parts();
  ordered_parts(const ordered_parts&) = delete;
  ordered_parts& operator=(const ordered_parts&) = delete;

  /// Null at the end. Throws ballast_error{stopped} once it is wanted no more.
  batch next();

private:
  struct waiting {
    std::deque<std::pair<batch, int64_t>> batches;
    bool done = false;
  };

  void run(const reader& one);
  bool give(size_t part, batch rows);
  void end();

  const size_t parts_;
  const std::vector<reader> readers_;
  const int64_t bytes_max_;
  const store::work_watch stop_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, waiting> waiting_; // parts that are begun, not handed on
  size_t begun_ = 0;                  // the next part to read
  size_t handed_ = 0;                 // the part that is handed on
  int64_t bytes_ = 0;
  size_t running_ = 0;
  bool ending_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

} // namespace ballast::data
