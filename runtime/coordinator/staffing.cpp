#include "runtime/coordinator/staffing.hpp"

#include <algorithm>

namespace ballast::coordinator {

namespace {

uint32_t number_in(const std::string& name) {
  uint32_t out = 0;
  if (name.size() < 2 || name.size() > 9 || name[0] != 'w')
    return 0;
  for (char c : name.substr(1)) {
    if (c < '0' || c > '9')
      return 0;
    out = out * 10 + uint32_t(c - '0');
  }
  return out;
}

} // namespace

void staffing::begin(const elastic_spec& how,
                     const std::map<worker_id, node>& here) {
  how_ = how;
  wanted_ = how.workers;
  most_.reset();
  last_name_ = how.workers;
  began_ = false;
  starting_.clear();
  for (uint32_t i = 1; supervised_ && i <= wanted_; ++i)
    starting_.insert("w" + std::to_string(i));
  for (const auto& [id, who] : here)
    starting_.erase(who.about.name);
  early_deaths_.clear();
}

void staffing::take_over(std::optional<uint32_t> asked, bool began) {
  starting_.clear();
  most_ = asked;
  wanted_ = most_.value_or(wanted_);
  began_ = began;
}

void staffing::scale(uint32_t workers) {
  wanted_ = workers;
  most_ = workers;
}

size_t staffing::needed(size_t ready) const {
  if (!began_)
    return wanted_;
  return std::max<size_t>(how_.min_workers,
                          std::min<size_t>(wanted_, ready + starting_.size()));
}

void staffing::note_name(const std::string& name) {
  last_name_ = std::max(last_name_, number_in(name));
}

void staffing::joined(const std::string& name) {
  starting_.erase(name);
  expelled_.erase(name);
}

bool staffing::died_early(instant now) {
  auto window = std::chrono::seconds(how_.respawn_window_s);
  std::erase_if(early_deaths_, [&](instant one) { return now - one > window; });
  early_deaths_.push_back(now);
  return supervised_ && early_deaths_.size() == how_.respawn_limit + 1;
}

bool staffing::respawns() const {
  return supervised_ && how_.respawn &&
         early_deaths_.size() <= how_.respawn_limit;
}

std::vector<std::string> staffing::replace(size_t here, bool waits) {
  // No worker is left of an earlier life: then also without respawn.
  const bool anew = waits && began_ && supervised_ && starting_.empty();
  std::vector<std::string> out;
  if (!respawns() && !anew)
    return out;
  for (here += starting_.size() + expelled_.size(); here < wanted_; ++here) {
    out.push_back("w" + std::to_string(++last_name_));
    starting_.insert(out.back());
  }
  return out;
}

} // namespace ballast::coordinator
