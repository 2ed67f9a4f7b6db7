/// `"track": ["csv"]`: steps.csv, and evaluations.csv with a column for each
/// metric that is one number, in the order of the first evaluation. What is not
/// finite is an empty cell.
#pragma once

#include "monitor/track/appended_file.hpp"
#include "monitor/track/tracks.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace ballast::monitor {

class csv_track final : public track_file {
public:
  explicit csv_track(const std::filesystem::path& folder);
  void step(const ledger::committed_step& one) override;
  void evaluated(double wall_s,
                 const coordinator::events::evaluated& what) override;
  void flush() override;

private:
  appended_file steps_;
  appended_file evaluations_;
  std::vector<std::string> metrics_; // of the columns
  bool has_head_ = false;
};

} // namespace ballast::monitor
