#include "runtime/inference/part_board.hpp"

#include <algorithm>

namespace ballast::inference {

void part_board::ready(seat_number which) {
  seat& one = at(which);
  if (one.is == seat::state::starting)
    one.is = seat::state::idle;
  unready_ = 0;
}

std::optional<part_number> part_board::done(seat_number which) {
  seat& one = at(which);
  if (one.is != seat::state::computing)
    return std::nullopt;
  one.is = seat::state::idle;
  return one.part;
}

void part_board::died(seat_number which, const std::string& how) {
  seat& one = at(which);
  const seat::state was = one.is;
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
  if (was != seat::state::computing)
    return;
  waiting_.insert(one.part);
  killers_.insert(one.part);
  if (killers_.count(one.part) >= deaths_of_part_max)
    refused_ = {errc::worker_lost,
                "part " + std::to_string(uint64_t(one.part)) +
                    " of the rows: " + std::to_string(deaths_of_part_max) +
                    " processes ended while they computed it; the last: " + how,
                {}};
}

std::vector<board_action> part_board::next() {
  std::vector<board_action> out;
  for (size_t i = 0; i < seats_.size() && !waiting_.empty(); ++i) {
    if (seats_[i].is != seat::state::idle)
      continue;
    seats_[i] = {seat::state::computing, *waiting_.begin()};
    waiting_.erase(waiting_.begin());
    out.emplace_back(hand_out{seat_number(i), seats_[i].part});
  }
  for (size_t i = 0; i < seats_.size() && coming() < waiting_.size(); ++i) {
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
  return size_t(std::ranges::count(seats_, seat::state::computing, &seat::is));
}

size_t part_board::coming() const {
  return size_t(std::ranges::count(seats_, seat::state::starting, &seat::is));
}

} // namespace ballast::inference
