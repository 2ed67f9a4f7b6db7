#include "actors/chunk_copier.hpp"

#include "data/chunk_service.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"

#include <algorithm>
#include <chrono>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace ballast {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// Another source is there for what a silent worker does not send; there is
/// none for the origin.
constexpr auto connect_deadline = 3s;
constexpr auto peer_patience = 3s;
constexpr auto origin_patience = bulk_patience;
/// One request is for what the rate allows in this time.
constexpr double request_s = 0.05;
/// How soon it is seen that a copy is wanted no more.
constexpr auto look_every = 20ms;
/// Training comes first.
constexpr int niceness = 10;

class copier {
public:
  copier(chunk_store& into, const manifest& set, const assignment& self,
         const fetch_order& what, const std::function<bool()>& given_up)
      : into_(into), set_(set), self_(self), what_(what), given_up_(given_up) {}

  chunks_fetched run() {
    out_.worker = self_.worker;
    out_.generation = what_.generation;
    out_.number = what_.number;
    try {
      for (const fetch_order::source& from : what_.sources)
        copy(from);
      log().info("copied {} chunks for plan {}", copied_, value(what_.number));
    } catch (const ballast_error& e) {
      out_.problem = e.what_failed();
    } catch (const std::exception& e) {
      out_.problem = {errc::internal, e.what(), {}};
    }
    return out_;
  }

private:
  void copy(const fetch_order::source& from) {
    std::vector<chunk_info> missing;
    for (const interval& piece : from.pieces)
      if (!into_.find(data_part::train, piece.chunk))
        missing.push_back(set_.train.at(value(piece.chunk)));
    size_t done = 0;
    std::unique_ptr<chunk_client> peer;
    std::string address = from.address;
    std::string name = from.name;
    while (done < missing.size() && !given_up_()) {
      size_t count = request_size(missing, done);
      std::span<const chunk_info> part{missing.data() + done, count};
      try {
        if (!peer)
          peer = chunk_client::connect(address, self_.token, connect_deadline);
        fetch(*peer, part, name);
      } catch (const ballast_error& e) {
        if (given_up_())
          return;
        // Room that is not here is not at the origin either.
        bool no_room = e.what_failed().code == errc::device_failed;
        if (no_room || address == self_.origin)
          throw;
        log().warn("chunks of {} for plan {}: {}; takes them from the origin",
                   name, value(what_.number), e.what());
        // What arrived damaged is counted already.
        out_.refetched += e.what_failed().code != errc::invalid_data;
        address = self_.origin;
        name = origin_name;
        peer.reset();
        continue;
      }
      done += count;
      // Behind the last one nobody gains by waiting, and the plan waits for it.
      if (done < missing.size() || &from != &what_.sources.back())
        wait_for_rate();
    }
  }

  size_t request_size(const std::vector<chunk_info>& missing, size_t done) {
    if (what_.bytes_per_s == 0)
      return missing.size() - done;
    double left = double(what_.bytes_per_s) * request_s;
    size_t count = 0;
    while (done + count < missing.size() && left > 0)
      left -= double(missing[done + count++].bytes);
    return std::max<size_t>(count, 1);
  }

  void fetch(chunk_client& client, std::span<const chunk_info> part,
             const std::string& source) {
    std::vector<chunk_info> still;
    for (const chunk_info& one : part)
      if (!into_.find(data_part::train, one.id))
        still.push_back(one);
    (void)fault_point("copy.fetch");
    uint64_t before = out_.bytes;
    auto begun = steady::now();
    bulk_watch how =
        source == origin_name ? bulk_watch(origin_patience) : peer_patience;
    how.given_up = given_up_;
    client.fetch(
        data_part::train, still, set_.row, how,
        [&](chunk_ptr got) {
          out_.bytes += got->bytes;
          into_.put(data_part::train, std::move(got));
          ++copied_;
        },
        [&](const chunk_info& one) {
          log().warn("chunk {} for plan {} arrived damaged from {}",
                     to_string(one.id), value(what_.number), source);
          ++out_.refetched;
          if (out_.damaged.size() < damaged_told_max)
            out_.damaged.push_back({source, one.id});
        });
    std::chrono::nanoseconds took = steady::now() - begun;
    out_.requests.push_back(
        {source, out_.bytes - before, uint64_t(took.count())});
    if (out_.requests.size() > requests_told_max)
      out_.requests.erase(out_.requests.begin());
  }

  void wait_for_rate() {
    if (what_.bytes_per_s == 0)
      return;
    auto due =
        begun_ + std::chrono::duration_cast<steady::duration>(
                     std::chrono::duration<double>(double(out_.bytes) /
                                                   double(what_.bytes_per_s)));
    while (steady::now() < due && !given_up_())
      std::this_thread::sleep_until(std::min(due, steady::now() + look_every));
  }

  chunk_store& into_;
  const manifest& set_;
  const assignment& self_;
  const fetch_order& what_;
  const std::function<bool()>& given_up_;
  chunks_fetched out_;
  uint64_t copied_ = 0;
  steady::time_point begun_ = steady::now();
};

} // namespace

chunks_fetched copy_chunks(chunk_store& into, const manifest& set,
                           const assignment& self, const fetch_order& what,
                           const std::function<bool()>& given_up) {
  // Of this thread; Linux knows no other meaning.
  (void)::setpriority(PRIO_PROCESS, id_t(::gettid()), niceness);
  return copier(into, set, self, what, given_up).run();
}

} // namespace ballast
