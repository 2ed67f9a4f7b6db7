/// What the evaluations in the journal of a run say of its course: after how
/// many steps its `stop` ends it, and which of them was the best; and whether
/// its report says the same. For the audit. Any thread.
#pragma once

#include "runtime/ledger/audit.hpp"
#include "runtime/messages/judgement.hpp"
#include "store/journal.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace ballast::monitor {

struct course {
  uint64_t steps = 0;              // to do
  std::optional<best_so_far> best; // none: nothing was judged
};

/// `steps`: of all epochs. Throws ballast_error{run_dir_unusable} where the
/// journal's job cannot be read.
course course_of(const store::journal_content& journal, uint64_t steps);

/// `report`: of a run that has ended.
void check_course(const course& ours, const nlohmann::json& report,
                  ledger::audit& into);

} // namespace ballast::monitor
