#include "actors/run_data.hpp"

#include "data/host_memory.hpp"
#include "monitor/logs/log.hpp"

#include <nlohmann/json.hpp>

namespace ballast {

namespace {

/// The chunks of a share, each once.
std::vector<chunk_info> chunks_of(const share& part, const manifest& set) {
  std::vector<chunk_info> out;
  for (const interval& one : part.intervals)
    if (out.empty() || out.back().id != one.chunk)
      out.push_back(set.train.at(value(one.chunk)));
  return out;
}

void remove_present(std::vector<chunk_info>& chunks, data_part part,
                    const chunk_store& store) {
  std::erase_if(chunks, [&](const chunk_info& one) {
    return store.find(part, one.id) != nullptr;
  });
}

uint64_t sum_of_bytes(const std::vector<chunk_info>& chunks) {
  uint64_t out = 0;
  for (const chunk_info& one : chunks)
    out += one.bytes;
  return out;
}

/// Counts one down, unless there is none left.
bool take_one(std::atomic<uint64_t>& left) {
  uint64_t now = left.load(std::memory_order_relaxed);
  while (now > 0)
    if (left.compare_exchange_weak(now, now - 1))
      return true;
  return false;
}

} // namespace

void run_data::open(const assignment& order, uint64_t store_limit_bytes,
                    const question& given_up) {
  origin_.set_origin(order.origin);
  if (store_)
    return;
  set_ = nlohmann::json::parse(origin_.fetch_blob("manifest", given_up))
             .get<manifest>();
  const uint64_t limit =
      store_limit_bytes > 0 ? store_limit_bytes : order.store_limit_bytes;
  store_ = std::make_unique<chunk_store>(
      limit > 0 ? limit : available_memory_bytes() / 5 * 4);
}

void run_data::fetch_share(const assignment& order, const question& given_up) {
  origin_.set_origin(order.origin);
  const std::vector<share>& shares = order.first->shares;
  size_t rank = 0;
  while (shares.at(rank).worker != order.worker)
    ++rank;
  std::vector<chunk_info> train = chunks_of(shares[rank], set_);
  std::vector<chunk_info> test;
  for (size_t i = rank; i < set_.test.size(); i += shares.size())
    test.push_back(set_.test[i]);
  remove_present(train, data_part::train, *store_);
  remove_present(test, data_part::test, *store_);
  const uint64_t coming = sum_of_bytes(train) + sum_of_bytes(test);
  // The coordinator counted what each worker is to own. What goes meanwhile is
  // held a moment longer.
  if (order.store_limit_bytes > 0)
    store_->set_limit(
        std::max(order.store_limit_bytes, store_->bytes() + coming));
  coming_.begin(coming);
  struct over {
    bytes_coming& of;
    ~over() { of.end(); }
  } const whatever_happens{coming_};
  const chunk_fetcher::terms how{
      .purpose = "generation " + to_string(order.generation),
      .given_up = given_up,
      .progress = [this](uint64_t bytes) { coming_.arrived(bytes); }};
  origin_.fetch({store_.get(), data_part::train, set_.row, std::move(train)},
                origin_.origin(), how);
  origin_.fetch({store_.get(), data_part::test, set_.row, std::move(test)},
                origin_.origin(), how);
  if (given_up && given_up())
    throw ballast_error(errc::unreachable, "the share is wanted no more");
  log().info("holds {} train and {} test chunks, {} MB",
             store_->count(data_part::train), store_->count(data_part::test),
             store_->bytes() >> 20);
}

void run_data::serve(const std::string& bind_host,
                     chunk_service::blob_finder blobs) {
  if (service_)
    return;
  service_ = chunk_service::start(
      bind_host, 0, origin_.token(),
      [this](data_part part, chunk_id id) {
        chunk_ptr found = store_->find(part, id);
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
  return fetch_for_plan(*store_, set_, self, order, given_up);
}

void run_data::in_force(const plan& now) {
  std::lock_guard lock(release_mutex_);
  release_.in_force(now);
}

void run_data::awaits(const fetch_order& order) {
  std::lock_guard lock(release_mutex_);
  release_.fetching(order);
}

void run_data::release(const std::vector<step_record>& steps, const plan* next,
                       worker_id self) {
  std::lock_guard lock(release_mutex_);
  const size_t gone = release_.applied(steps, next, self, set_, *store_);
  if (gone > 0)
    log().info("released {} chunks; holds {} train and {} test chunks", gone,
               store_->count(data_part::train), store_->count(data_part::test));
}

} // namespace ballast
