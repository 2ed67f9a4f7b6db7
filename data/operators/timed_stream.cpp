#include "data/operators/timed_stream.hpp"

#include "runtime/base/thread_name.hpp"

#include <arrow/api.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace ballast::data {

namespace {

class cache_stream final : public operator_stream {
public:
  cache_stream(stream_pointer from, operator_context context)
      : operator_stream(std::move(context)), from_(std::move(from)) {
    set_schema(from_->schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    from_->choose(columns);
  }
  std::shared_ptr<arrow::RecordBatch> produce() override {
    return from_->next();
  }

private:
  const stream_pointer from_;
};

class prefetch_stream final : public operator_stream {
public:
  prefetch_stream(stream_pointer from, uint64_t batches,
                  operator_context context)
      : operator_stream(std::move(context)), from_(std::move(from)),
        most_(batches) {
    set_schema(from_->schema());
  }
  ~prefetch_stream() override {
    {
      const std::lock_guard lock(mutex_);
      unwanted_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable())
      thread_.join();
  }

protected:
  void begin(const std::vector<int>& columns) override {
    from_->choose(columns);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    if (!std::exchange(begun_, true))
      start();
    if (!thread_.joinable())
      return from_->next();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !ready_.empty(); });
    if (ready_.empty()) {
      if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
      return nullptr;
    }
    std::shared_ptr<arrow::RecordBatch> out = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return out;
  }

private:
  void start() {
    try {
      thread_ = std::thread([this] {
        set_thread_name("bl-ahead");
        run();
      });
    } catch (const std::system_error&) {
      // No thread to be had: the rows come when they are asked for.
    }
  }

  void run() {
    std::exception_ptr failure;
    try {
      while (std::shared_ptr<arrow::RecordBatch> rows = from_->next())
        if (!put(std::move(rows)))
          return;
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::move(failure);
      ended_ = true;
    }
    changed_.notify_all();
  }

  /// False: nobody wants more.
  bool put(std::shared_ptr<arrow::RecordBatch> rows) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return unwanted_ || ready_.size() < most_; });
    if (unwanted_)
      return false;
    ready_.push_back(std::move(rows));
    lock.unlock();
    changed_.notify_all();
    return true;
  }

  const stream_pointer from_; // the thread's, once there is one
  const uint64_t most_;
  bool begun_ = false;
  std::mutex mutex_; // guards the following
  std::condition_variable changed_;
  std::deque<std::shared_ptr<arrow::RecordBatch>> ready_;
  bool ended_ = false;
  bool unwanted_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

} // namespace

stream_pointer cached_rows(stream_pointer from, operator_context context) {
  return std::make_unique<cache_stream>(std::move(from), std::move(context));
}

stream_pointer prefetched_rows(stream_pointer from, uint64_t batches,
                               operator_context context) {
  return std::make_unique<prefetch_stream>(std::move(from), batches,
                                           std::move(context));
}

} // namespace ballast::data
