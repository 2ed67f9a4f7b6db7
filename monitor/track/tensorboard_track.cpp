#include "monitor/track/tensorboard_track.hpp"

#include "monitor/track/event_records.hpp"
#include "runtime/metrics/metric_catalogue.hpp"
#include "store/clock.hpp"

#include <cmath>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::monitor {

namespace {

/// TensorBoard knows its files by this.
constexpr const char* prefix = "events.out.tfevents.";

/// A reader that watches the folder takes a new name for new content.
std::filesystem::path fresh_file(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix))
      std::filesystem::remove(entry.path());
  return folder / (prefix + std::to_string(store::wall_ns() / 1'000'000'000) +
                   ".ballast." + std::to_string(getpid()));
}

} // namespace

tensorboard_track::tensorboard_track(const std::filesystem::path& folder)
    : file_(fresh_file(folder)) {
  file_.append(event_file_head(double(store::wall_ns()) / 1e9));
}

void tensorboard_track::step(const ledger::committed_step& one) {
  std::vector<std::pair<std::string, double>> scalars{
      {"train/world", double(one.world)}};
  if (std::isfinite(one.loss))
    scalars.emplace_back("train/loss", one.loss);
  file_.append(event_record(double(store::wall_ns_of(int64_t(one.t_ns))) / 1e9,
                            value(one.step), scalars));
}

void tensorboard_track::evaluated(double wall_s,
                                  const coordinator::events::evaluated& what) {
  std::vector<std::pair<std::string, double>> scalars{{"test/loss", what.loss}};
  for (const metrics::metric_value& one : what.values)
    if (one.numbers.size() == 1)
      scalars.emplace_back("test/" + to_string(one.what), one.numbers[0]);
  std::erase_if(scalars,
                [](const auto& one) { return !std::isfinite(one.second); });
  file_.append(event_record(wall_s, value(what.step), scalars));
}

} // namespace ballast::monitor
