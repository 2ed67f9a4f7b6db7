#include "monitor/logs/event_log.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "store/clock.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace {

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
  for (std::string line; std::getline(in, line);) {
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
  file_.append(line);
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

std::vector<event> event_log::after(uint64_t seq, size_t count) const {
  std::lock_guard lock(mutex_);
  return copy_after(seq, count);
}

std::vector<event> event_log::wait_after(uint64_t seq, size_t count,
                                         std::chrono::milliseconds timeout,
                                         const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  appended_.wait_for(lock, stop, timeout, [&] { return last_ > seq; });
  if (stop.stop_requested())
    return {};
  return copy_after(seq, count);
}

} // namespace ballast::monitor
