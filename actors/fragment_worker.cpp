#include "actors/fragment_worker.hpp"

#include "data/base/ordered_work.hpp"
#include "data/prepared/fragment_task.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/source/found_files.hpp"
#include "data/store/host_memory.hpp"
#include "data/transfer/chunk_service.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace ballast::actors {

namespace {

/// The coordinator has no more under way with one worker.
constexpr size_t threads_max = 8;
/// Of the memory that is free, for the rows of all files that are read at once.
constexpr uint64_t memory_part = 8;

} // namespace

struct fragment_worker::parts {
  parts(fragment_worker_config with,
        std::function<void(fragment_ready)> answer_to)
      : config(std::move(with)), answer(std::move(answer_to)) {}

  const fragment_worker_config config;
  const std::function<void(fragment_ready)> answer;
  std::stop_source ending;
  std::mutex mutex; // guards the following
  std::condition_variable changed;
  std::deque<prepare_fragment> orders;
  size_t idle = 0;
  std::vector<std::thread> threads;
  bool done_with = false; // nothing that was made is needed any more
  std::mutex opening;     // held as long as a service begins; guards these
  std::optional<data::prepare_cache> cache; // with the first order
  std::shared_ptr<store::file_lock> in_use; // of its fragments
  std::vector<std::string> made;            // keys
  std::string token;                        // of the service
  std::shared_ptr<data::found_files> found; // by the orders with this token
  std::shared_ptr<data::chunk_service> service;

  void work();
  void carry_out(const prepare_fragment& order);
  std::string serve(const std::string& for_token);
};

void fragment_worker::parts::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle;
    changed.wait(lock,
                 [this] { return ending.stop_requested() || !orders.empty(); });
    --idle;
    if (ending.stop_requested())
      return;
    const prepare_fragment order = std::move(orders.front());
    orders.pop_front();
    lock.unlock();
    carry_out(order);
    lock.lock();
  }
}

void fragment_worker::parts::carry_out(const prepare_fragment& order) {
  fragment_ready out;
  out.number = order.number;
  out.key = order.key;
  try {
    std::string address;
    std::shared_ptr<data::found_files> known;
    {
      const std::lock_guard lock(opening);
      if (!cache)
        cache.emplace(config.cache_folder);
      if (!in_use)
        in_use = cache->use_fragments();
      made.push_back(order.key);
      address = serve(order.token);
      known = found;
    }
    const size_t at_once = std::min(data::work_threads(), threads_max);
    out = data::carry_out(
        order, data::available_memory_bytes() / memory_part / at_once, *cache,
        ending.get_token(), known.get());
    out.address = std::move(address);
  } catch (const std::exception& error) {
    out.why = error.what(); // its cache, or its ports
  }
  if (!ending.stop_requested())
    answer(std::move(out));
}

/// Another run has another token: what is being sent for the one before is
/// wanted no more.
std::string fragment_worker::parts::serve(const std::string& for_token) {
  if (service && token == for_token)
    return service->address();
  service.reset();
  token = for_token;
  found = std::make_shared<data::found_files>();
  service = data::chunk_service::start(
      config.bind_host, 0, token,
      [](data::data_part, chunk_id) { return data::chunk_ptr(); },
      [this](const std::string& name) -> std::optional<std::string> {
        std::string key;
        std::string out;
        uint64_t at = 0;
        if (!read_fragment_blob(name, key, at) ||
            !data::read_part(*cache, key, at, out))
          return std::nullopt;
        return out;
      });
  return service->address();
}

fragment_worker::fragment_worker(fragment_worker_config config,
                                 std::function<void(fragment_ready)> answer)
    : parts_(std::make_unique<parts>(std::move(config), std::move(answer))) {}

fragment_worker::~fragment_worker() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->ending.request_stop();
  }
  parts_->changed.notify_all();
  for (std::thread& one : parts_->threads)
    one.join();
  if (parts_->service)
    parts_->service->shutdown(std::chrono::seconds(1));
  parts_->in_use.reset();
  if (parts_->done_with && parts_->cache)
    parts_->cache->remove_fragments(parts_->made);
}

void fragment_worker::add(prepare_fragment order) {
  parts& all = *parts_;
  const std::lock_guard lock(all.mutex);
  all.orders.push_back(std::move(order));
  if (all.idle < all.orders.size() &&
      all.threads.size() < std::min(data::work_threads(), threads_max))
    all.threads.emplace_back([&all] {
      name_this_thread("bl-files");
      all.work();
    });
  all.changed.notify_one();
}

void fragment_worker::set_is_made() {
  const std::lock_guard lock(parts_->mutex);
  parts_->done_with = true;
}

} // namespace ballast::actors
