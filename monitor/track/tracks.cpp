#include "monitor/track/tracks.hpp"

#include "monitor/track/csv_track.hpp"
#include "monitor/track/tensorboard_track.hpp"
#include "runtime/job/track_kind.hpp"

#include <exception>
#include <utility>

namespace ballast::monitor {

tracks::tracks(std::filesystem::path folder,
               const std::vector<std::string>& wanted, teller tell)
    : folder_(std::move(folder)), tell_(std::move(tell)) {
  for (const std::string& word : wanted)
    try {
      std::filesystem::create_directories(folder_);
      if (word == to_string(track_kind::csv))
        files_.push_back(std::make_unique<csv_track>(folder_));
      else if (word == to_string(track_kind::tensorboard))
        files_.push_back(std::make_unique<tensorboard_track>(folder_));
    } catch (const std::exception& problem) {
      tell_("nothing is written for the tracker " + word + ": " +
            problem.what());
    }
}

/// A format that fails is given up.
template <class Work>
void tracks::each(const Work& work) {
  for (auto at = files_.begin(); at != files_.end();)
    try {
      work(**at);
      (*at)->flush();
      ++at;
    } catch (const std::exception& problem) {
      tell_(folder_.string() +
            " ends here, the next life of the run writes it "
            "again: " +
            problem.what());
      at = files_.erase(at);
    }
}

void tracks::committed(std::span<const ledger::committed_step> steps) {
  each([&](track_file& to) {
    for (const ledger::committed_step& one : steps)
      to.step(one);
  });
}

void tracks::evaluated(double wall_s,
                       const coordinator::events::evaluated& what) {
  each([&](track_file& to) { to.evaluated(wall_s, what); });
}

} // namespace ballast::monitor
