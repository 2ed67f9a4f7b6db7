#include "monitor/logs/event_log.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "store/clock.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace {

/// Reading on from a mark passes by fewer than so many.
constexpr uint64_t events_per_mark = 256;

[[noreturn]] void refuse_field(const std::string& kind,
                               const std::string& field) {
  throw ballast_error(errc::internal, "event '" + kind +
                                          "' sets the reserved field '" +
                                          field + "'");
}

} // namespace

event_log::event_log(const std::filesystem::path& file, size_t kept)
    : kept_(std::max<size_t>(kept, 1)), file_(file, "events.append") {
  std::ifstream in(file);
  uint64_t at = 0;
  for (std::string line; std::getline(in, line);) {
    if (last_ % events_per_mark == 0)
      marks_.push_back(at);
    at += line.size() + 1;
    nlohmann::json content = nlohmann::json::parse(line, nullptr, false);
    if (!content.is_object() || !content.contains("seq") ||
        !content["seq"].is_number_unsigned())
      throw ballast_error(errc::run_dir_unusable,
                          "a line of " + file.string() +
                              " is no event: " + line.substr(0, 200));
    last_ = content["seq"].get<uint64_t>();
    events_.push_back({last_, std::move(line)});
    if (events_.size() > kept_)
      events_.pop_front();
  }
}

uint64_t event_log::append(const event_text& what,
                           const std::function<void(uint64_t)>& before) {
  std::lock_guard lock(mutex_);
  uint64_t seq = last_ + 1;
  nlohmann::ordered_json content = {{"seq", seq},
                                    {"t_ns", store::monotonic_ns()},
                                    {"time", store::utc_time(store::wall_ns())},
                                    {"kind", what.kind}};
  for (const auto& [key, field] : what.fields.items()) {
    if (content.contains(key))
      refuse_field(what.kind, key);
    content[key] = field;
  }
  // Text of other programs (a reason, a path) may be invalid UTF-8.
  std::string line = json_text(content);
  if (before)
    before(seq);
  const uint64_t at = file_.bytes();
  file_.append(line);
  if (last_ % events_per_mark == 0)
    marks_.push_back(at);
  last_ = seq;
  events_.push_back({seq, std::move(line)});
  if (events_.size() > kept_)
    events_.pop_front();
  appended_.notify_all();
  return seq;
}

uint64_t event_log::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

uint64_t event_log::first_kept() const {
  std::lock_guard lock(mutex_);
  return events_.empty() ? last_ + 1 : events_.front().seq;
}

std::vector<event> event_log::copy_after(uint64_t seq, size_t count) const {
  // Numbers have no gaps, so the index of `seq` is known.
  if (events_.empty() || seq >= last_)
    return {};
  uint64_t oldest = events_.front().seq;
  size_t begin = seq < oldest ? 0 : size_t(seq - oldest + 1);
  size_t end = begin + std::min(count, events_.size() - begin);
  return {events_.begin() + std::ptrdiff_t(begin),
          events_.begin() + std::ptrdiff_t(end)};
}

std::vector<event> event_log::read_after(uint64_t seq, size_t count,
                                         uint64_t from_bytes) const {
  std::vector<event> out;
  std::ifstream in(file_.path());
  in.seekg(std::streamoff(from_bytes));
  uint64_t number = seq / events_per_mark * events_per_mark;
  for (std::string line; out.size() < count && std::getline(in, line);)
    if (++number > seq) {
      const auto content = nlohmann::json::parse(line, nullptr, false);
      if (!content.is_object() ||
          content.value("seq", nlohmann::json()) != number)
        break; // somebody wrote into it
      out.push_back({number, std::move(line)});
    }
  return out;
}

std::vector<event> event_log::found_after(std::unique_lock<std::mutex>& lock,
                                          uint64_t seq, size_t count) const {
  const size_t mark = size_t(seq / events_per_mark);
  if (events_.empty() || seq + 1 >= events_.front().seq ||
      mark >= marks_.size())
    return copy_after(seq, count);
  const uint64_t from_bytes = marks_[mark];
  const auto before = size_t(events_.front().seq - seq - 1);
  lock.unlock(); // lines that are there stay as they are
  std::vector<event> out = read_after(seq, std::min(count, before), from_bytes);
  lock.lock();
  return out.empty() ? copy_after(seq, count) : out;
}

std::vector<event> event_log::after(uint64_t seq, size_t count) const {
  std::unique_lock lock(mutex_);
  return found_after(lock, seq, count);
}

std::vector<event> event_log::wait_after(uint64_t seq, size_t count,
                                         std::chrono::milliseconds timeout,
                                         const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  appended_.wait_for(lock, stop, timeout, [&] { return last_ > seq; });
  if (stop.stop_requested())
    return {};
  return found_after(lock, seq, count);
}

} // namespace ballast::monitor
