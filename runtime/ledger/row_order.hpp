/// The rows that one rank feeds to the steps of an epoch, whatever the order of
/// the job: local, from a sequence over the rows that it owns; global, its part
/// of each step of the epoch's one order. Coordinator, worker, replay, audit
/// and simulator know this alone.
///
/// A value: copy it to look ahead, keep a copy to go back. Of one epoch and one
/// set of owned rows: ledger::order_of makes another.
#pragma once

#include "runtime/ledger/global_order.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/ledger/sequence.hpp"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace ballast::ledger {

class row_order {
public:
  /// Order local.
  explicit row_order(sequence own) : of_(std::move(own)) {}
  /// Order global, before position `at`. `held`: what the rank owns, whose
  /// chunks it is to have first.
  row_order(std::shared_ptr<const global_order> of, uint64_t at,
            const share& held);

  /// Appends the rows of the rank in its next step: ledger::parts_of. One call
  /// a step, also for none.
  void draw(const std::vector<step_part>& of_step, std::vector<row_ref>& out);

  /// Appends the chunks that coming draws are from, each once, by their next
  /// use. Of order local without a window nothing.
  void upcoming(std::vector<chunk_id>& out) const;
  /// Changes whenever that order of chunks gets shorter.
  uint64_t window_end() const;
  /// It has such an order.
  bool takes_turns() const;
  /// It draws the part of any rank, not of one alone.
  bool is_of_all() const;

private:
  struct in_all {
    std::shared_ptr<const global_order> of;
    uint64_t at = 0;
    shared_list<interval> held;
    dealt_uses known;
  };
  std::variant<sequence, in_all> of_;
};

} // namespace ballast::ledger
