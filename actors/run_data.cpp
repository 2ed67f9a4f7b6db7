#include "actors/run_data.hpp"

#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/store/chunk_disk.hpp"
#include "data/store/host_memory.hpp"
#include "data/store/nearby_set.hpp"
#include "data/store/stored_set.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/job/leaves_of.hpp"

namespace ballast::actors {

namespace {

/// Counts one down, unless there is none left.
bool take_one(std::atomic<uint64_t>& left) {
  uint64_t now = left.load(std::memory_order_relaxed);
  while (now > 0)
    if (left.compare_exchange_weak(now, now - 1))
      return true;
  return false;
}

/// Null if this user has no cache folder, which is said.
std::unique_ptr<data::chunk_disk> disk_in(const std::filesystem::path& cache,
                                          uint64_t limit_bytes,
                                          const ledger::manifest& set) {
  const auto warn = [](const std::string& why) {
    monitor::log().warn("{}", why);
  };
  try {
    const data::prepare_cache made(cache);
  } catch (const ballast_error& e) {
    warn(std::string(e.what()) + "; no chunks are kept there");
    return nullptr;
  }
  return std::make_unique<data::chunk_disk>(cache, limit_bytes, set, warn);
}

/// Where this worker reads without the origin; null: nowhere.
std::unique_ptr<data::nearby_set> set_nearby(const std::filesystem::path& cache,
                                             const assignment& order,
                                             const ledger::manifest& set) {
  const std::string uri = data::stored_set_of(order.job);
  if (uri.empty())
    return data::nearby_set::find(cache, order.cached_as, set);
  std::string why;
  auto out = data::nearby_set::in_store(uri, set, why);
  if (!out)
    monitor::log().warn("{}; the origin sends everything", why);
  return out;
}

} // namespace

void run_data::open(const assignment& order, const job& what,
                    uint64_t store_limit_bytes, const question& given_up) {
  if (residency_)
    return;
  const bool streams = ballast::streams(what.train);
  const uint64_t disk_limit_bytes = what.data.disk_mb.value_or(0) << 20;
  chunk_fetcher origin(token_, order.origin);
  set_ = data::read_chunk_table(origin.fetch_blob("manifest", given_up),
                                "the table of chunks of " + order.origin);
  uses_ = ledger::epoch_uses::of(what.train.sampling, what.train.epochs,
                                 what.seed, set_);
  chunk_rows_ = counted_rows(set_, uses_.get());
  const uint64_t limit =
      store_limit_bytes > 0 ? store_limit_bytes : order.store_limit_bytes;
  const std::filesystem::path cache = data::default_cache_folder();
  auto nearby = set_nearby(cache, order, set_);
  std::unique_ptr<data::chunk_disk> kept;
  if (streams && !nearby && disk_limit_bytes > 0)
    kept = disk_in(cache, disk_limit_bytes, set_);
  residency_ = std::make_unique<share_residency>(
      std::move(origin), set_,
      limit > 0 ? limit : data::available_memory_bytes() / 5 * 4, streams,
      std::move(nearby), std::move(kept));
  residency_->hold(); // until the first step
  opened_ = true;
}

void run_data::bring_share(const assignment& order) {
  residency_->set_origin(order.origin);
  residency_->bring(*order.first, self_, order.store_limit_bytes);
}

void run_data::serve(const std::string& bind_host,
                     data::chunk_service::blob_finder blobs) {
  if (service_)
    return;
  service_ = data::chunk_service::start(
      bind_host, 0, token_,
      [this](data::data_part part, chunk_id id) {
        data::chunk_ptr found = store().find(part, id);
        return found && take_one(damage_next_) ? damaged_copy(*found) : found;
      },
      std::move(blobs));
}

void run_data::stop_serving(std::chrono::milliseconds deadline) {
  if (service_)
    service_->shutdown(deadline);
}

chunks_fetched run_data::fetch(const assignment& self, const fetch_order& order,
                               const question& given_up) {
  if (residency_->streams()) { // what is used next comes then
    chunks_fetched nothing;
    nothing.worker = self.worker;
    nothing.generation = order.generation;
    nothing.number = order.number;
    return nothing;
  }
  return fetch_for_plan(store(), set_, self, order, given_up);
}

std::pair<uint64_t, uint64_t> run_data::coming() const {
  return opened_ ? residency_->coming() : std::pair<uint64_t, uint64_t>{};
}

void run_data::in_force(const ledger::plan& now) {
  if (opened_)
    residency_->bring_only(now, self_);
  std::lock_guard lock(release_mutex_);
  release_.in_force(now);
}

void run_data::hold() {
  if (opened_)
    residency_->hold();
}

void run_data::awaits(const fetch_order& order) {
  std::lock_guard lock(release_mutex_);
  release_.fetching(order);
}

void run_data::release(const std::vector<ledger::step_record>& steps,
                       const ledger::plan* next, worker_id self) {
  std::lock_guard lock(release_mutex_);
  if (!opened_)
    return;
  const size_t gone = release_.applied(steps, next, self, set_, store());
  if (gone > 0)
    monitor::log().info("released {} chunks; holds {} train and {} test chunks",
                        gone, store().count(data::data_part::train),
                        store().count(data::data_part::test));
}

} // namespace ballast::actors
