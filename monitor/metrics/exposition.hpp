/// What a probe shows: series whose names, types and help texts come from the
/// catalogue, as the text that Prometheus reads. Of one process; the series are
/// thread-safe, to make them is for one thread.
#pragma once

#include "monitor/metrics/metrics.hpp"
#include "runtime/base/errors.hpp"

#include <map>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <string>
#include <string_view>

namespace ballast::monitor {

class exposition {
public:
  /// `common`: labels on every metric but build_info.
  explicit exposition(prometheus::Labels common);

  prometheus::Family<prometheus::Counter>& counters(std::string_view name);
  prometheus::Family<prometheus::Gauge>& gauges(std::string_view name);
  prometheus::Family<prometheus::Histogram>& histograms(std::string_view name);

  std::string text() const;

private:
  template <class Builder>
  auto& build(Builder builder, std::string_view name, metric_type type);

  prometheus::Registry registry_;
  prometheus::Labels common_;
};

/// 100 us to 10 s, three per decade: from a step of the smallest model to one
/// of a large model on a slow device.
inline const prometheus::Histogram::BucketBoundaries step_buckets = {
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
    0.05,   0.1,    0.2,    0.5,   1,     2,     5,    10};

/// One counter for each code, all present from the start, so that the rate of
/// the first error is visible.
std::map<errc, prometheus::Counter*>
error_counters(prometheus::Family<prometheus::Counter>& family);

} // namespace ballast::monitor
