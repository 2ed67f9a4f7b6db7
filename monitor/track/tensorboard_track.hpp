/// `"track": ["tensorboard"]`: an event file with the scalars `train/loss` and
/// `train/world` of each step, and `test/loss` and `test/METRIC` of each
/// evaluation.
#pragma once

#include "monitor/track/appended_file.hpp"
#include "monitor/track/tracks.hpp"

#include <filesystem>

namespace ballast::monitor {

class tensorboard_track final : public track_file {
public:
  explicit tensorboard_track(const std::filesystem::path& folder);
  void step(const ledger::committed_step& one) override;
  void evaluated(double wall_s,
                 const coordinator::events::evaluated& what) override;
  void flush() override { file_.flush(); }

private:
  appended_file file_;
};

} // namespace ballast::monitor
