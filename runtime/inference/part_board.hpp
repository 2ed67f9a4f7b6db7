/// Who computes which part of the rows that a trained model is to judge: a
/// coordinator without a ledger, for work that has no order. Parts come as the
/// input is read; each goes to one process, and to the next one if that dies,
/// until it is done. Pure: events in, actions out; the caller starts processes
/// and sends orders.
///
/// A seat is a place for one process. Its process ends, another one sits down
/// there; what a seat holds is computed by the process that sits on it. Seats
/// are taken when there is work for them, so that few rows start few processes.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace ballast::inference {

enum class part_number : uint64_t {};
enum class seat_number : uint32_t {};

/// A process is to be started for this seat.
struct start_process {
  seat_number seat{};
  bool operator==(const start_process&) const = default;
};
/// The process of this seat is to compute this part.
struct hand_out {
  seat_number seat{};
  part_number part{};
  bool operator==(const hand_out&) const = default;
};
using board_action = std::variant<start_process, hand_out>;

class part_board {
public:
  /// So many processes that die with the same part in their hands end the work:
  /// it is the part that kills them.
  static constexpr uint32_t deaths_of_part_max = 5;
  /// So many in a row that die before they are ready: none will ever be.
  static constexpr uint32_t unready_deaths_max = 5;
  /// Parts in the hands of a seat: one is computed, and another one is there
  /// when that is done, whatever the caller does meanwhile.
  static constexpr size_t parts_in_hand_max = 2;
  /// Parts that are there for each seat before the next is read.
  static constexpr size_t parts_of_seat_max = 3;

  /// `seats` > 0.
  explicit part_board(uint32_t seats) : seats_(seats) {}

  // -- events

  /// The first part will come: a process may load the model meanwhile.
  void expect() { expects_ = true; }
  /// The rows of this part are there. Each part once.
  void add(part_number part) { waiting_.insert(part); }
  /// The process of this seat is able to compute.
  void ready(seat_number seat);
  /// It has computed the first of what it had; returns that. Nothing: it had
  /// nothing.
  std::optional<part_number> done(seat_number seat);
  /// It ended; `how` is for a user. Its parts wait again.
  void died(seat_number seat, const std::string& how);

  // -- decisions

  /// What is to be done now, each once; the lowest part first.
  std::vector<board_action> next();
  /// Whether there is too little work for the seats, so that more should be
  /// read.
  bool wants_parts() const;
  /// No part waits, and none is computed.
  bool is_empty() const { return waiting_.empty() && held() == 0; }
  /// Why the work cannot go on; nothing: it can.
  const failure& refused() const { return refused_; }
  uint64_t deaths() const { return deaths_; }

private:
  struct seat {
    enum class state : uint8_t { free, starting, there };
    state is = state::free;
    std::deque<part_number> parts; // the first one is computed
  };
  size_t held() const;
  bool hand_to_emptiest(std::vector<board_action>& out);
  size_t coming() const; // processes that will want a part
  seat& at(seat_number which) { return seats_[size_t(which)]; }

  std::vector<seat> seats_;
  std::set<part_number> waiting_;
  std::multiset<part_number> killers_; // parts, by the deaths with them
  bool expects_ = false;
  uint32_t unready_ = 0;
  uint64_t deaths_ = 0;
  failure refused_;
};

} // namespace ballast::inference
