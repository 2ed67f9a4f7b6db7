/// Every step that a worker applied and that the coordinator may not have on
/// its disk yet. A coordinator can be away for hours while the workers train
/// on; the next one must learn of each step, so nothing is dropped for want of
/// room: a step costs 8 bytes (its loss sum and the time since the step before)
/// in a run of steps that share epoch, plan and sample count. A million steps
/// take 8 MB. Pure; the loss of a record is kept exactly, because workers
/// derive it from a float32 sum.
#pragma once

#include "runtime/messages/reports.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace ballast::worker {

class step_history {
public:
  /// A step that was taken again replaces the old one and all after it.
  void add(const ledger::step_record& record);
  void assign(const std::vector<ledger::step_record>& records);
  /// The coordinator has these steps, and those before, on its disk. The newest
  /// `kept` stay all the same: a power cut may take what a disk promised.
  void recorded(step_number last);

  bool empty() const { return runs_.empty(); }
  std::optional<ledger::step_record> last() const;
  /// The oldest `most` of those later than `known`, in order.
  std::vector<ledger::step_record> after(step_number known, size_t most) const;
  /// The newest `most`, in order.
  std::vector<ledger::step_record> newest(size_t most) const;
  /// There are steps later than this one.
  bool goes_beyond(step_number known) const;

  size_t size() const { return size_; }
  /// What it takes of memory, about.
  size_t bytes() const;

  static constexpr size_t kept = 65'536;

private:
  struct moment {
    float loss_sum = 0;
    uint32_t gap_ns = 0; // since the step before, in the same run
  };
  struct run {
    step_number first{};
    epoch_number epoch{};
    plan_number plan{};
    uint64_t samples = 0;
    uint64_t first_ns = 0; // when `first` was applied
    uint64_t last_ns = 0;
    std::vector<moment> steps;

    step_number last() const {
      return step_number{value(first) + steps.size() - 1};
    }
    bool goes_on_with(const ledger::step_record& record) const;
  };
  void drop_from(step_number first);
  static void append(const run& from, step_number known, size_t most,
                     std::vector<ledger::step_record>& out);

  std::deque<run> runs_; // ascending
  size_t size_ = 0;
};

} // namespace ballast::worker
