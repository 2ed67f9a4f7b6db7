#include "runtime/inference/part_board.hpp"

#include <algorithm>
#include <utility>

namespace ballast::inference {

void part_board::ready(seat_number which) {
  seat& one = at(which);
  if (one.is == seat::state::starting)
    one.is = seat::state::there;
  unready_ = 0;
}

std::optional<part_number> part_board::done(seat_number which) {
  seat& one = at(which);
  if (one.parts.empty())
    return std::nullopt;
  const part_number out = one.parts.front();
  one.parts.pop_front();
  return out;
}

void part_board::died(seat_number which, const std::string& how) {
  seat& one = at(which);
  const seat::state was = one.is;
  const std::deque<part_number> parts = std::exchange(one.parts, {});
  one.is = seat::state::free;
  if (was == seat::state::free)
    return;
  ++deaths_;
  if (was == seat::state::starting && ++unready_ >= unready_deaths_max)
    refused_ = {errc::worker_lost,
                std::to_string(unready_) +
                    " processes in a row ended before they had loaded the "
                    "model; the last: " +
                    how,
                {}};
  if (parts.empty())
    return;
  waiting_.insert(parts.begin(), parts.end());
  const part_number first = parts.front();
  killers_.insert(first);
  if (killers_.count(first) >= deaths_of_part_max)
    refused_ = {errc::worker_lost,
                "part " + std::to_string(uint64_t(first)) +
                    " of the rows: " + std::to_string(deaths_of_part_max) +
                    " processes ended while they computed it; the last: " + how,
                {}};
}

/// The lowest part, to who has the fewest. False: nobody takes one.
bool part_board::hand_to_emptiest(std::vector<board_action>& out) {
  size_t to = seats_.size();
  for (size_t i = 0; i < seats_.size(); ++i)
    if (seats_[i].is == seat::state::there &&
        seats_[i].parts.size() < parts_in_hand_max &&
        (to == seats_.size() ||
         seats_[i].parts.size() < seats_[to].parts.size()))
      to = i;
  if (to == seats_.size() || waiting_.empty())
    return false;
  // Nobody waits for its second one where another has none, or will soon.
  if (!seats_[to].parts.empty() && waiting_.size() <= coming())
    return false;
  seats_[to].parts.push_back(*waiting_.begin());
  waiting_.erase(waiting_.begin());
  out.emplace_back(hand_out{seat_number(to), seats_[to].parts.back()});
  return true;
}

std::vector<board_action> part_board::next() {
  std::vector<board_action> out;
  while (hand_to_emptiest(out)) {
  }
  const size_t wanted =
      std::max(waiting_.size(), size_t{std::exchange(expects_, false)});
  for (size_t i = 0; i < seats_.size() && coming() < wanted; ++i) {
    if (seats_[i].is != seat::state::free)
      continue;
    seats_[i].is = seat::state::starting;
    out.emplace_back(start_process{seat_number(i)});
  }
  return out;
}

bool part_board::wants_parts() const {
  return waiting_.size() + held() < parts_of_seat_max * seats_.size();
}

size_t part_board::held() const {
  size_t out = 0;
  for (const seat& one : seats_)
    out += one.parts.size();
  return out;
}

size_t part_board::coming() const {
  return size_t(std::ranges::count(seats_, seat::state::starting, &seat::is));
}

} // namespace ballast::inference
