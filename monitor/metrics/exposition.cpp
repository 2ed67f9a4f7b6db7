#include "monitor/metrics/exposition.hpp"

#include "runtime/base/check.hpp"

#include <prometheus/text_serializer.h>
#include <utility>

namespace ballast::monitor {

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const metric_entry& entry_of(std::string_view name, metric_type type) {
  for (const metric_entry& entry : metric_catalogue())
    if (entry.name == name && entry.type == type)
      return entry;
  check_failed(__FILE__, __LINE__, "in the catalogue", std::string(name));
}

} // namespace

exposition::exposition(prometheus::Labels common) : common_(std::move(common)) {
  const metric_entry& entry =
      entry_of("ballast_build_info", metric_type::gauge);
  prometheus::BuildGauge()
      .Name(std::string(entry.name))
      .Help(std::string(entry.help))
      .Register(registry_)
      .Add({{"version", BALLAST_VERSION}})
      .Set(1);
}

template <class Builder>
auto& exposition::build(Builder builder, std::string_view name,
                        metric_type type) {
  const metric_entry& entry = entry_of(name, type);
  return builder.Name(std::string(entry.name))
      .Help(std::string(entry.help))
      .Labels(common_)
      .Register(registry_);
}

Family<Counter>& exposition::counters(std::string_view name) {
  return build(prometheus::BuildCounter(), name, metric_type::counter);
}

Family<Gauge>& exposition::gauges(std::string_view name) {
  return build(prometheus::BuildGauge(), name, metric_type::gauge);
}

Family<Histogram>& exposition::histograms(std::string_view name) {
  return build(prometheus::BuildHistogram(), name, metric_type::histogram);
}

std::string exposition::text() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

std::map<errc, Counter*> error_counters(Family<Counter>& family) {
  std::map<errc, Counter*> out;
  for (const error_entry& entry : error_catalogue())
    if (entry.code != errc::none)
      out[entry.code] = &family.Add({{"code", std::string(entry.name)}});
  return out;
}

std::string idle_metrics() {
  return exposition({}).text();
}

} // namespace ballast::monitor
