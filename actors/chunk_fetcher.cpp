#include "actors/chunk_fetcher.hpp"

#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// For a silent worker there is another source; for the origin there is none.
constexpr auto peer_connect_deadline = 3s;
constexpr auto peer_patience = 3s;
constexpr auto origin_connect_deadline = 10s;
constexpr auto origin_patience = bulk_patience;
/// One request is for what the rate allows in this time.
constexpr double request_s = 0.05;
/// How soon a fetch that waits for the rate notices that it is given up.
constexpr auto look_every = 20ms;
constexpr int fetch_niceness = 10;

bool given_up(const chunk_fetcher::terms& how) {
  return how.given_up && how.given_up();
}

std::vector<ledger::chunk_info>
missing_of(const wanted_chunks& wanted,
           std::span<const ledger::chunk_info> chunks) {
  std::vector<ledger::chunk_info> out;
  for (const ledger::chunk_info& one : chunks)
    if (!wanted.into->find(wanted.part, one.id))
      out.push_back(one);
  return out;
}

size_t request_size(std::span<const ledger::chunk_info> left,
                    uint64_t bytes_per_s) {
  if (bytes_per_s == 0)
    return left.size();
  double room = double(bytes_per_s) * request_s;
  size_t count = 0;
  while (count < left.size() && room > 0)
    room -= double(left[count++].bytes);
  return std::max<size_t>(count, 1);
}

} // namespace

data::chunk_client& chunk_fetcher::client_of(const chunk_source& from) {
  if (!client_ || connected_to_ != from.address) {
    client_ = data::chunk_client::connect(
        from.address, token_,
        is_origin(from) ? origin_connect_deadline : peer_connect_deadline);
    connected_to_ = from.address;
  }
  return *client_;
}

std::string chunk_fetcher::fetch_blob(const std::string& name,
                                      const std::function<bool()>& given_up) {
  data::bulk_watch how(origin_patience);
  how.given_up = given_up;
  return client_of(origin_).fetch_blob(name, how);
}

data::chunk_ptr chunk_fetcher::fetch_rows(data::data_part part,
                                          std::span<const ledger::row_ref> rows,
                                          const ledger::row_shape& row,
                                          const terms& how) {
  data::bulk_watch watch(origin_patience);
  watch.given_up = how.given_up;
  watch.progress = how.progress;
  data::chunk_ptr out = client_of(origin_).fetch_rows(part, rows, row, watch);
  done_.bytes += out->bytes;
  return out;
}

void chunk_fetcher::fetch(const wanted_chunks& wanted, const chunk_source& from,
                          const terms& how) {
  const std::vector<ledger::chunk_info> missing =
      missing_of(wanted, wanted.chunks);
  chunk_source source = from;
  std::span<const ledger::chunk_info> left = missing;
  while (!left.empty() && !given_up(how)) {
    // Not behind the last one: nobody gains by that, and the plan waits for it.
    wait_for_rate(how);
    const size_t count = request_size(left, how.bytes_per_s);
    try {
      request(wanted, left.first(count), source, how);
    } catch (const ballast_error& e) {
      if (given_up(how))
        return;
      const errc code = e.what_failed().code;
      // Room that is not here is not at the origin either.
      if (is_origin(source) || code == errc::device_failed)
        throw;
      monitor::log().warn("chunks of {} for {}: {}; takes them from the origin",
                          source.name, how.purpose, e.what());
      // What arrived damaged is counted already.
      done_.refetched += code != errc::invalid_data;
      source = origin_;
      client_.reset();
      continue;
    }
    left = left.subspan(count);
  }
}

void chunk_fetcher::request(const wanted_chunks& wanted,
                            std::span<const ledger::chunk_info> part,
                            const chunk_source& from, const terms& how) {
  data::chunk_client& client = client_of(from);
  const std::vector<ledger::chunk_info> still = missing_of(wanted, part);
  const uint64_t before = done_.bytes;
  const auto begun = steady::now();
  data::bulk_watch watch = is_origin(from) ? data::bulk_watch(origin_patience)
                                           : data::bulk_watch(peer_patience);
  watch.given_up = how.given_up;
  watch.progress = how.progress;
  client.fetch(
      wanted.part, still, wanted.row, watch,
      [&](data::chunk_ptr got) {
        done_.bytes += got->bytes;
        wanted.into->put(wanted.part, std::move(got), wanted.needed_now);
        ++done_.chunks;
      },
      [&](const ledger::chunk_info& one) {
        monitor::log().warn("chunk {} for {} arrived damaged from {}",
                            to_string(one.id), how.purpose, from.name);
        ++done_.refetched;
        if (done_.damaged.size() < damaged_told_max)
          done_.damaged.push_back({from.name, one.id});
      });
  const std::chrono::nanoseconds took = steady::now() - begun;
  done_.requests.push_back(
      {from.name, done_.bytes - before, uint64_t(took.count())});
  if (done_.requests.size() > requests_told_max)
    done_.requests.erase(done_.requests.begin());
}

void chunk_fetcher::wait_for_rate(const terms& how) const {
  if (how.bytes_per_s == 0)
    return;
  const auto due =
      begun_ + std::chrono::duration_cast<steady::duration>(
                   std::chrono::duration<double>(double(done_.bytes) /
                                                 double(how.bytes_per_s)));
  while (steady::now() < due && !given_up(how))
    std::this_thread::sleep_until(std::min(due, steady::now() + look_every));
}

chunks_fetched fetch_for_plan(data::chunk_store& into,
                              const ledger::manifest& set,
                              const assignment& self, const fetch_order& order,
                              const std::function<bool()>& given_up) {
  // Of this thread; Linux knows no other meaning.
  (void)::setpriority(PRIO_PROCESS, id_t(::gettid()), fetch_niceness);
  chunks_fetched out;
  out.worker = self.worker;
  out.generation = order.generation;
  out.number = order.number;
  chunk_fetcher fetcher(self.token, self.origin);
  const chunk_fetcher::terms how{.purpose = "plan " + to_string(order.number),
                                 .bytes_per_s = order.bytes_per_s,
                                 .given_up = given_up};
  try {
    for (const fetch_order::source& from : order.sources) {
      (void)fault_point("copy.fetch");
      wanted_chunks wanted{&into, data::data_part::train, set.row, {}};
      for (const ledger::interval& piece : from.pieces)
        wanted.chunks.push_back(set.train.at(value(piece.chunk)));
      fetcher.fetch(wanted, {from.name, from.address}, how);
    }
    monitor::log().info("copied {} chunks for {}", fetcher.done().chunks,
                        how.purpose);
  } catch (const ballast_error& e) {
    out.problem = e.what_failed();
  } catch (const std::exception& e) {
    out.problem = {errc::internal, e.what(), {}};
  }
  const chunk_fetcher::account& done = fetcher.done();
  out.bytes = done.bytes;
  out.refetched = done.refetched;
  out.damaged = done.damaged;
  out.requests = done.requests;
  return out;
}

} // namespace ballast::actors
