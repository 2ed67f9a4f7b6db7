#include "actors/share_residency.hpp"

#include "monitor/logs/log.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;

/// Of a set larger than memory: one can check and copy while another reads.
constexpr size_t loaders_of_stream = 2;
/// After a failure.
constexpr auto try_again_after = 500ms;
constexpr auto ask_again_every = 20ms;
/// Between two log lines about an origin that is away.
constexpr auto say_again_after = 10s;

bool is_given_up(const data::row_source::question& given_up) {
  return given_up && given_up();
}

const ledger::share* share_of(const ledger::plan& of, worker_id self,
                              size_t& rank) {
  for (rank = 0; rank < of.shares.size(); ++rank)
    if (of.shares[rank].worker == self)
      return &of.shares[rank];
  return nullptr;
}

std::vector<chunk_fetcher> fetchers(size_t count, const chunk_fetcher& like) {
  std::vector<chunk_fetcher> out;
  for (size_t i = 0; i < count; ++i)
    out.emplace_back(like.token(), like.origin().address);
  return out;
}

} // namespace

share_residency::share_residency(chunk_fetcher connected,
                                 const ledger::manifest& set,
                                 uint64_t store_limit_bytes, bool streams,
                                 std::unique_ptr<data::nearby_set> nearby,
                                 std::unique_ptr<data::chunk_disk> kept)
    : set_(set), streams_(streams), store_(store_limit_bytes),
      nearby_(std::move(nearby), std::move(kept), set.row),
      urgent_(std::move(connected)), origin_(urgent_.origin().address),
      background_(fetchers(streams ? loaders_of_stream : 1, urgent_)),
      loaders_(store_, set_,
               {.threads = background_.size(),
                .bring = [this](wanted_chunks& wanted,
                                size_t i) { load(wanted, i); },
                .all_here = [this] { say_all_here(); },
                .from_disk = [this] { return nearby_.has_set(); }}) {}

void share_residency::set_origin(const std::string& address) {
  const std::lock_guard lock(mutex_);
  origin_ = address;
}

std::string share_residency::origin() const {
  const std::lock_guard lock(mutex_);
  return origin_;
}

// -- what is to come ----------------------------------------------------------

lacking_chunks share_residency::lacks(const ledger::plan& of,
                                      worker_id self) const {
  lacking_chunks out;
  size_t rank = 0;
  const ledger::share* own = share_of(of, self, rank);
  if (own == nullptr)
    return out;
  const std::vector<bool> here =
      store_.held(data::data_part::train, set_.train.size());
  for (const ledger::interval& one : own->intervals)
    if (!here[value(one.chunk)] &&
        (out.train.empty() || out.train.back() != one.chunk))
      out.train.push_back(one.chunk);
  const std::vector<bool> test_here =
      store_.held(data::data_part::test, set_.test.size());
  // As an evaluation divides them.
  for (size_t i = rank; i < set_.test.size(); i += of.shares.size())
    if (!test_here[i])
      out.test.push_back(set_.test[i].id);
  return out;
}

/// The coordinator counted what each worker is to own. What goes meanwhile is
/// held a moment longer.
void share_residency::make_room(const lacking_chunks& coming,
                                uint64_t limit_bytes) {
  uint64_t bytes = store_.bytes();
  for (chunk_id id : coming.train)
    bytes += about(data::data_part::train, id).bytes;
  for (chunk_id id : coming.test)
    bytes += about(data::data_part::test, id).bytes;
  store_.set_limit(std::max(limit_bytes, bytes));
}

void share_residency::bring(const ledger::plan& of, worker_id self,
                            uint64_t limit_bytes) {
  if (streams_) { // the steps say what comes next
    if (limit_bytes > 0)
      store_.set_limit(limit_bytes);
    const std::lock_guard lock(mutex_);
    unsaid_ = true;
    return;
  }
  // Until it is known what comes; by then no more than the first rows do.
  if (limit_bytes > 0)
    store_.set_limit(UINT64_MAX);
  loaders_.account(
      [this, of, self, limit_bytes] {
        lacking_chunks more = lacks(of, self);
        if (limit_bytes > 0)
          make_room(more, limit_bytes);
        if (more.none())
          say_held();
        return more;
      },
      false);
}

void share_residency::say_held() const {
  monitor::log().info("holds {} train and {} test chunks, {} MB",
                      store_.count(data::data_part::train),
                      store_.count(data::data_part::test),
                      store_.bytes() >> 20);
}

void share_residency::bring_only(const ledger::plan& of, worker_id self) {
  if (!streams_)
    loaders_.account([this, of, self] { return lacks(of, self); }, true);
}

void share_residency::expect(std::span<const chunk_id> upcoming) {
  if (!streams_)
    return;
  store_.expect(upcoming);
  if (nearby_.keeps()) {
    std::vector<bool> used(set_.train.size());
    for (chunk_id id : upcoming)
      used[value(id)] = true;
    nearby_.keep_only(used);
  }
  lacking_chunks next;
  uint64_t bytes = 0;
  const uint64_t limit = store_.limit_bytes();
  const std::vector<bool> here =
      store_.held(data::data_part::train, set_.train.size());
  for (chunk_id id : upcoming) {
    bytes += about(data::data_part::train, id).bytes;
    if (bytes > limit)
      break;
    if (!here[value(id)])
      next.train.push_back(id);
  }
  loaders_.replace(std::move(next));
}

// -- behind the steps ---------------------------------------------------------

void share_residency::load(wanted_chunks& wanted, size_t i) {
  const auto stopped = [this] { return loaders_.stopped(); };
  timed_reads::request timed(timed_);
  nearby_.bring(wanted, {.given_up = stopped, .progress = [&](uint64_t more) {
                           timed.arrived(more);
                         }});
  if (!wanted.chunks.empty()) {
    chunk_fetcher& fetcher = background_[i];
    fetcher.set_origin(origin());
    fetcher.fetch(wanted, fetcher.origin(),
                  {.purpose = "the share",
                   .given_up = stopped,
                   .progress = [&](uint64_t more) {
                     from_origin_ += more;
                     timed.arrived(more);
                     const auto begun = timed_reads::clock::now();
                     loaders_.yield();
                     timed.stood_still(timed_reads::clock::now() - begun);
                   }});
  }
  timed.over();
  note_arrived(wanted);
  keep_arrived();
}

void share_residency::say_all_here() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(unsaid_, !streams_))
      return;
  }
  say_held();
}

void share_residency::note_arrived(const wanted_chunks& got) {
  if (!nearby_.keeps() || got.part != data::data_part::train)
    return;
  const std::lock_guard lock(mutex_);
  for (const ledger::chunk_info& one : got.chunks)
    unkept_.push_back(one.id);
}

void share_residency::keep_arrived() {
  std::vector<chunk_id> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(unkept_);
  }
  if (!arrived.empty())
    nearby_.keep(store_, arrived);
}

// -- what a step waits for ----------------------------------------------------

void share_residency::gather(data::data_part part,
                             std::span<const ledger::row_ref> rows,
                             const question& given_up, data::batch& out) {
  if (store_.find_all(part, rows, out.places) > 0) {
    const std::vector<ledger::chunk_info>& all = chunks_of(part);
    // A store that cannot hold a batch's chunks gets its rows.
    missing_rows missing = missing_of(
        rows, out.places, all, streams_ ? store_.limit_bytes() : UINT64_MAX);
    if (!missing.chunks.empty()) {
      fetch_now(part, missing.chunks, given_up, store_);
      // What the store could not keep comes with the rows.
      if (store_.find_more(part, rows, out.places) > missing.rows.size())
        missing = missing_of(rows, out.places, all, 0);
    }
    fetch_rows_now(part, rows, missing, given_up, out.places);
  }
  gather_places(part, set_.row, out);
  loaders_.batch_gathered();
}

data::chunk_ptr share_residency::chunk_of(data::data_part part, chunk_id id,
                                          const question& given_up) {
  data::chunk_ptr out = store_.find(part, id);
  // Larger than all that may be held: for this call alone.
  data::chunk_store alone(UINT64_MAX);
  const bool fits = !streams_ || about(part, id).bytes <= store_.limit_bytes();
  data::chunk_store& into = fits ? store_ : alone;
  while (!out) {
    fetch_now(part, {id}, given_up, into);
    out = into.find(part, id);
  }
  return out;
}

void share_residency::read_now(wanted_chunks& wanted,
                               const question& given_up) {
  const chunk_fetcher::terms how = step_terms(given_up);
  if (wanted.into != &store_ || !nearby_.has_set())
    return nearby_.bring(wanted, how);
  std::vector<chunk_id> ids;
  for (const ledger::chunk_info& one : wanted.chunks)
    ids.push_back(one.id);
  const auto read = [&](chunk_id id) {
    wanted_chunks one = wanted;
    one.chunks = {about(wanted.part, id)};
    timed_reads::request timed(timed_);
    nearby_.bring(one, how);
    if (one.chunks.empty())
      timed.arrived(about(wanted.part, id).bytes);
    timed.over();
    return one.chunks.empty();
  };
  loaders_.bring_for_step(wanted.part, ids, read, given_up);
  std::erase_if(wanted.chunks, [&](const ledger::chunk_info& one) {
    return store_.find(wanted.part, one.id) != nullptr;
  });
}

void share_residency::fetch_now(data::data_part part,
                                const std::vector<chunk_id>& ids,
                                const question& given_up,
                                data::chunk_store& into) {
  wanted_chunks wanted{&into, part, set_.row, {}, true};
  uint64_t bytes = 0;
  for (chunk_id id : ids) {
    wanted.chunks.push_back(about(part, id));
    bytes += wanted.chunks.back().bytes;
  }
  const step_waits now(*this, bytes);
  read_now(wanted, given_up);
  if (wanted.chunks.empty())
    return;
  insist(std::to_string(wanted.chunks.size()) + " chunks", given_up,
         [&](const chunk_fetcher::terms& how) {
           urgent_.fetch(wanted, urgent_.origin(), how);
         });
  note_arrived(wanted);
}

void share_residency::fetch_rows_now(data::data_part part,
                                     std::span<const ledger::row_ref> rows,
                                     const missing_rows& missing,
                                     const question& given_up,
                                     std::vector<data::row_place>& places) {
  constexpr size_t at_once = 4096;
  const std::span<const size_t> all = missing.rows;
  for (size_t begin = 0; begin < all.size(); begin += at_once) {
    const auto part_of =
        all.subspan(begin, std::min(at_once, all.size() - begin));
    std::vector<ledger::row_ref> wanted;
    for (size_t i : part_of)
      wanted.push_back(rows[i]);
    const uint64_t bytes = missing.rows_bytes * part_of.size() / all.size();
    const step_waits now(*this, bytes);
    timed_reads::request timed(timed_);
    data::chunk_ptr got = nearby_.rows(part, wanted);
    if (got) {
      timed.arrived(got->bytes);
      timed.over();
    } else
      insist(std::to_string(wanted.size()) + " rows", given_up,
             [&](const chunk_fetcher::terms& how) {
               got = urgent_.fetch_rows(part, wanted, set_.row, how);
             });
    for (size_t k = 0; k < part_of.size(); ++k)
      places[part_of[k]] = {got, uint32_t(k)};
  }
}

chunk_fetcher::terms share_residency::step_terms(const question& given_up) {
  return {.purpose = "the next step",
          .given_up = given_up,
          .progress = [this](uint64_t more) { coming_.arrived(more); }};
}

void share_residency::insist(
    const std::string& what, const question& given_up,
    const std::function<void(const chunk_fetcher::terms&)>& fetch) {
  std::optional<timed_reads::request> timed;
  chunk_fetcher::terms how = step_terms(given_up);
  how.progress = [&](uint64_t more) {
    coming_.arrived(more);
    from_origin_ += more;
    timed->arrived(more);
  };
  std::optional<std::chrono::steady_clock::time_point> said;
  const std::lock_guard urgent(urgent_mutex_);
  while (!is_given_up(given_up)) {
    try {
      urgent_.set_origin(origin());
      timed.emplace(timed_);
      fetch(how);
      timed->over();
      if (is_given_up(given_up))
        break;
      return;
    } catch (const ballast_error& e) {
      if (e.what_failed().code != errc::unreachable || is_given_up(given_up))
        throw;
      const auto now = std::chrono::steady_clock::now();
      if (!said || now - *said > say_again_after) {
        monitor::log().warn("a step waits for {} from the origin: {}", what,
                            e.what());
        said = now;
      }
    }
    const auto until = std::chrono::steady_clock::now() + try_again_after;
    while (!is_given_up(given_up) && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(ask_again_every);
  }
  throw ballast_error(errc::unreachable, "the rows are wanted no more");
}

} // namespace ballast::actors
