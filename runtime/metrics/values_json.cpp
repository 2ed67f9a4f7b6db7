/// Values of metrics as JSON: for people and tools, and for the journal.
#include "runtime/metrics/metric_values.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace ballast::metrics {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json number_json(double number) {
  return std::isfinite(number) ? ordered_json(number) : ordered_json(nullptr);
}

bool is_count(metric what) {
  return what == metric::rows_per_class || what == metric::confusion_matrix;
}

ordered_json value_json(const metric_value& in) {
  const auto each = [&in](double number) {
    return is_count(in.what) ? ordered_json(uint64_t(number))
                             : number_json(number);
  };
  const metric_shape shape = about(in.what).shape;
  if (shape == metric_shape::number)
    return in.numbers.empty() ? ordered_json(nullptr) : each(in.numbers[0]);
  ordered_json out = ordered_json::array();
  if (shape == metric_shape::per_class) {
    for (double number : in.numbers)
      out.push_back(each(number));
    return out;
  }
  const auto side = size_t(std::lround(std::sqrt(double(in.numbers.size()))));
  for (size_t row = 0; row < side; ++row) {
    ordered_json line = ordered_json::array();
    for (size_t column = 0; column < side; ++column)
      line.push_back(each(in.numbers[row * side + column]));
    out.push_back(std::move(line));
  }
  return out;
}

} // namespace

ordered_json values_json(const metric_values& in) {
  ordered_json out = ordered_json::object();
  for (const metric_value& one : in)
    out[to_string(one.what)] = value_json(one);
  return out;
}

ordered_json undefined_json(const metric_values& in) {
  ordered_json out = ordered_json::object();
  for (const metric_value& one : in)
    if (!one.undefined.empty())
      out[to_string(one.what)] = one.undefined;
  return out;
}

ordered_json error_max_json(const metric_values& in) {
  ordered_json out = ordered_json::object();
  for (const metric_value& one : in)
    if (one.error_max > 0)
      out[to_string(one.what)] = one.error_max;
  return out;
}

void add_values(ordered_json& to, const std::string& prefix,
                const metric_values& in) {
  const auto add = [&](const char* key, ordered_json what) {
    if (!what.empty())
      to[prefix + key] = std::move(what);
  };
  add("metrics", values_json(in));
  add("metrics_undefined", undefined_json(in));
  add("metrics_error_max", error_max_json(in));
}

json journal_json(const metric_values& in) {
  json out = json::array();
  for (const metric_value& one : in) {
    json numbers = json::array();
    for (double number : one.numbers)
      numbers.push_back(std::isfinite(number) ? json(number) : json(nullptr));
    out.push_back({{"metric", to_string(one.what)},
                   {"numbers", std::move(numbers)},
                   {"undefined", one.undefined},
                   {"error_max", one.error_max}});
  }
  return out;
}

metric_values values_of_journal(const json& in) {
  metric_values out;
  for (const json& one : in) {
    const auto what = parse_word<metric>(one.at("metric").get<std::string>());
    if (!what)
      continue;
    metric_value& value = out.emplace_back();
    value.what = *what;
    for (const json& number : one.at("numbers"))
      value.numbers.push_back(number.is_null()
                                  ? std::numeric_limits<double>::quiet_NaN()
                                  : number.get<double>());
    value.undefined = one.at("undefined").get<std::string>();
    value.error_max = one.at("error_max").get<double>();
  }
  return out;
}

} // namespace ballast::metrics
