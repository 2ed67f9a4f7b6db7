#include "monitor/track/csv_track.hpp"

#include "runtime/metrics/metric_catalogue.hpp"
#include "store/clock.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace ballast::monitor {

namespace {

/// The shortest text that reads back as the number.
std::string cell(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  return std::isfinite(number) ? std::string(text, end.ptr) : std::string();
}

} // namespace

csv_track::csv_track(const std::filesystem::path& folder)
    : steps_(folder / "steps.csv"), evaluations_(folder / "evaluations.csv") {
  steps_.append("step,epoch,samples,world,loss,time\n");
}

void csv_track::step(const ledger::committed_step& one) {
  steps_.append(to_string(one.step) + "," + to_string(one.epoch) + "," +
                std::to_string(one.samples) + "," + std::to_string(one.world) +
                "," + cell(one.loss) + "," +
                store::utc_time(store::wall_ns_of(int64_t(one.t_ns))) + "\n");
}

void csv_track::evaluated(double wall_s,
                          const coordinator::events::evaluated& what) {
  if (!has_head_) {
    std::string head = "step,epoch,rows,time,test_loss";
    for (const metrics::metric_value& one : what.values)
      if (one.numbers.size() == 1) {
        metrics_.push_back(to_string(one.what));
        head += ",test_" + metrics_.back();
      }
    evaluations_.append(head + "\n");
    has_head_ = true;
  }
  std::string line = to_string(what.step) + "," + to_string(what.epoch) + "," +
                     std::to_string(what.rows) + "," +
                     store::utc_time(int64_t(wall_s * 1e9)) + "," +
                     cell(what.loss);
  for (const std::string& name : metrics_) {
    line += ",";
    for (const metrics::metric_value& one : what.values)
      if (one.numbers.size() == 1 && to_string(one.what) == name)
        line += cell(one.numbers[0]);
  }
  evaluations_.append(line + "\n");
}

void csv_track::flush() {
  steps_.flush();
  evaluations_.flush();
}

} // namespace ballast::monitor
