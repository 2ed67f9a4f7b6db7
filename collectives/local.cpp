#include "collectives/local.hpp"

#include "collectives/local_call.hpp"
#include "collectives/ordered_sum.hpp"
#include "collectives/peer_blob.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace ballast::collectives {

namespace {

struct failure_note {
  collective_errc code;
  std::string what;
  int peer = -1;
};

/// The rendezvous of the ranks of one generation. Every member takes the lock.
class group {
public:
  explicit group(int size) : calls_(static_cast<size_t>(size)) {}

  /// Blocks until every rank has passed its call; the last one executes all.
  void meet(int rank, const call& mine, deadline until) {
    std::unique_lock lock(mutex_);
    throw_if_failed();
    const uint64_t round = round_;
    calls_[rank] = mine;
    if (++arrived_ == calls_.size()) {
      check_alike();
      perform(calls_);
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait_until(lock, until,
                        [&] { return round_ != round || failed_; });
    if (round_ != round) {
      return;
    }
    if (!failed_) {
      fail({collective_errc::timeout,
            "the deadline passed with " + std::to_string(arrived_) + " of " +
                std::to_string(calls_.size()) + " ranks in the operation"});
    }
    throw_if_failed();
  }

  void send(int from, int to, const void* data, size_t bytes) {
    std::lock_guard lock(mutex_);
    throw_if_failed();
    const char* begin = static_cast<const char*>(data);
    mail_[{from, to}].emplace_back(begin, begin + bytes);
    changed_.notify_all();
  }

  void receive(int from, int to, void* data, size_t bytes, deadline until) {
    std::unique_lock lock(mutex_);
    auto& box = mail_[{from, to}];
    changed_.wait_until(lock, until, [&] { return !box.empty() || failed_; });
    throw_if_failed();
    if (box.empty()) {
      fail({collective_errc::timeout,
            "nothing came from rank " + std::to_string(from), from});
      throw_if_failed();
    }
    if (box.front().size() != bytes) {
      fail({collective_errc::mismatch,
            "rank " + std::to_string(from) + " sent " +
                std::to_string(box.front().size()) + " bytes, expected " +
                std::to_string(bytes),
            from});
      throw_if_failed();
    }
    std::copy(box.front().begin(), box.front().end(), static_cast<char*>(data));
    box.pop_front();
  }

  void abort(const failure_note& why) {
    std::lock_guard lock(mutex_);
    if (!failed_) {
      fail(why);
    }
  }

private:
  void fail(failure_note why) {
    failed_ = std::move(why);
    changed_.notify_all();
  }

  void throw_if_failed() const {
    if (failed_) {
      throw collective_error(failed_->code, failed_->what, failed_->peer);
    }
  }

  void check_alike() {
    const call& first = calls_.front();
    for (size_t r = 1; r < calls_.size(); ++r) {
      if (!calls_[r].is_like(first)) {
        fail({collective_errc::mismatch,
              "rank " + std::to_string(r) +
                  " calls another operation, count, type or order than rank 0",
              static_cast<int>(r)});
        throw_if_failed();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<call> calls_;
  size_t arrived_ = 0;
  uint64_t round_ = 0;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> mail_;
  std::optional<failure_note> failed_;
};

/// The group of a token and generation in this process. The size is part of the
/// key, so that a rank with another size does not join the wrong group.
std::shared_ptr<group> find_group(const collective_options& options) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, uint64_t, int>, std::weak_ptr<group>>
      groups;
  std::lock_guard lock(mutex);
  std::erase_if(groups, [](const auto& e) { return e.second.expired(); });
  auto& slot = groups[{options.token, value(options.generation), options.size}];
  std::shared_ptr<group> found = slot.lock();
  if (!found) {
    found = std::make_shared<group>(options.size);
    slot = found;
  }
  return found;
}

class local_collective final : public collective {
public:
  local_collective(std::shared_ptr<group> shared, int rank, int size)
      : group_(std::move(shared)), rank_(rank), size_(size) {}

  ~local_collective() override {
    if (state_ == collective_state::ready) {
      group_->abort({collective_errc::peer_lost,
                     "rank " + std::to_string(rank_) + " is gone", rank_});
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  collective_state state() const override { return state_; }

  void all_reduce(void* data, size_t count, element_type type,
                  deadline until) override {
    meet({call_kind::reduce, data, count, type}, until);
    bytes_sent_ += count * size_of(type);
  }

  void reduce_scatter(void* data, size_t count, element_type type,
                      deadline until) override {
    meet({call_kind::scatter, data, count, type}, until);
    bytes_sent_ += count * size_of(type);
  }

  void all_gather(void* data, size_t count, element_type type,
                  deadline until) override {
    meet({call_kind::gather, data, count, type}, until);
    bytes_sent_ += count * size_of(type);
  }

  void sum_in_order(const ledger::fixed_sum& how, const float* parts,
                    size_t stride, float* out, size_t count,
                    deadline until) override {
    const rank_parts mine{parts, stride};
    guarded([&] {
      try {
        check_sum_call(how, size_, rank_, mine, out, count);
      } catch (const collective_error& e) { // the others need not wait for it
        group_->abort({e.code(), e.what(), rank_});
        throw;
      }
      group_->meet(rank_,
                   {call_kind::sum_in_order, out, count, element_type::float32,
                    0, &how, mine},
                   until);
    });
    bytes_sent_ +=
        how.parts[static_cast<size_t>(rank_)] * count * sizeof(float);
  }

  void all_to_all(const void* from, void* to, size_t bytes,
                  deadline until) override {
    call mine{call_kind::all_to_all, to, bytes};
    mine.blocks = from;
    meet(mine, until);
    bytes_sent_ += bytes * static_cast<size_t>(size_ - 1);
  }

  void broadcast(void* data, size_t bytes, int root, deadline until) override {
    check_rank(root);
    meet({call_kind::broadcast, data, bytes, element_type::float32, root},
         until);
    bytes_sent_ += bytes;
  }

  void send(const void* data, size_t bytes, int to, deadline) override {
    check_rank(to);
    guarded([&] { group_->send(rank_, to, data, bytes); });
    bytes_sent_ += bytes;
  }

  void receive(void* data, size_t bytes, int from, deadline until) override {
    check_rank(from);
    guarded([&] { group_->receive(from, rank_, data, bytes, until); });
  }

  void barrier(deadline until) override { meet({call_kind::barrier}, until); }

  void abort(const std::string& reason) noexcept override {
    if (state_ == collective_state::closed) {
      return;
    }
    try {
      group_->abort({collective_errc::aborted, reason});
    } catch (...) { // no memory for the text; the state suffices
    }
    state_ = collective_state::dead;
  }

  void close(deadline until) override {
    state_ = collective_state::draining;
    meet({call_kind::barrier}, until);
    state_ = collective_state::closed;
  }

  uint64_t bytes_sent() const override { return bytes_sent_; }

private:
  void check_rank(int other) const {
    if (other < 0 || other >= size_) {
      throw collective_error(collective_errc::mismatch,
                             "no rank " + std::to_string(other) +
                                 " in a collective of " +
                                 std::to_string(size_));
    }
  }

  void meet(const call& mine, deadline until) {
    guarded([&] { group_->meet(rank_, mine, until); });
  }

  template <class Operation>
  void guarded(Operation&& operation) {
    if (state_ == collective_state::closed) {
      throw collective_error(collective_errc::aborted,
                             "the collective is closed");
    }
    try {
      operation();
    } catch (const collective_error&) {
      state_ = collective_state::dead;
      throw;
    }
  }

  std::shared_ptr<group> group_;
  const int rank_;
  const int size_;
  std::atomic<collective_state> state_{collective_state::ready};
  std::atomic<uint64_t> bytes_sent_{0};
};

class local_opening final : public collective_opening {
public:
  explicit local_opening(const collective_options& options)
      : options_(options), group_(find_group(options)),
        address_(make_peer_blob("local", options, "")) {}

  const std::string& address() const override { return address_; }

  std::unique_ptr<collective> connect(const std::vector<std::string>& addresses,
                                      deadline until) override {
    check_peer_blobs("local", options_, addresses);
    group_->meet(options_.rank, {call_kind::barrier}, until);
    return std::make_unique<local_collective>(group_, options_.rank,
                                              options_.size);
  }

  void abort(const std::string& reason) noexcept override {
    try {
      group_->abort({collective_errc::aborted, reason});
    } catch (...) { // no memory: connect ends at its deadline
    }
  }

private:
  collective_options options_;
  std::shared_ptr<group> group_;
  std::string address_;
};

class local_backend final : public collective_backend {
public:
  std::string name() const override { return "local"; }

  collective_capabilities capabilities() const override {
    return {.abortable = true,
            .sees_peer_death = true,
            .ranks_max = 256,
            .float64 = true,
            .bfloat16 = true,
            .point_to_point = true,
            .ordered_sums = true,
            .all_to_all = true,
            .checks_calls = true};
  }

  std::unique_ptr<collective_opening>
  prepare(const collective_options& options) override {
    check_options("local", options, capabilities().ranks_max);
    return std::make_unique<local_opening>(options);
  }
};

} // namespace

std::unique_ptr<collective_backend> make_local_backend() {
  return std::make_unique<local_backend>();
}

} // namespace ballast::collectives
