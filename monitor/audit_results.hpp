/// Losses and evaluations that a run tells in more than one place: of each
/// epoch in ledger.sqlite and events.jsonl, of the last one in report.json,
/// whose training loss follows from steps.jsonl. For the audit. Any thread.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/ledger/audit.hpp"
#include "store/journal.hpp"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace ballast::monitor {

/// The mean loss of an epoch's rows, of steps that have one.
class epoch_loss {
public:
  /// A line of steps.jsonl, in order.
  void add(const nlohmann::json& line);
  /// Of the last epoch, or of the one before, which may be the last full one.
  bool explains(double train_loss) const;

private:
  struct sum {
    double loss = 0;
    double samples = 0;
  };
  epoch_number epoch_{};
  sum last_;
  sum before_;
};

/// `report`: null where there is none.
void check_results(const std::filesystem::path& folder,
                   const store::journal_content& journal,
                   const nlohmann::json& report, const epoch_loss& trained,
                   ledger::audit& into);

} // namespace ballast::monitor
