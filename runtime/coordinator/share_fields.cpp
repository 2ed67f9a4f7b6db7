#include "runtime/coordinator/share_fields.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// Behind the others, without the search for an equal key that an ordered
/// object makes for each: names differ, and there may be a thousand.
void append(nlohmann::ordered_json& object, const std::string& name,
            nlohmann::ordered_json what) {
  object.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
      name, std::move(what));
}

} // namespace

nlohmann::ordered_json share_fields(const std::vector<std::string>& names,
                                    const plan& current,
                                    const std::vector<share_summary>& shares,
                                    uint64_t global_batch) {
  double worst = 0;
  uint64_t weights = 0;
  for (const share& one : current.shares)
    weights += one.batch_weight;
  nlohmann::ordered_json skew = nlohmann::ordered_json::object();
  nlohmann::ordered_json rows = skew;
  nlohmann::ordered_json batch = skew;
  for (size_t rank = 0; rank < shares.size() && rank < names.size(); ++rank) {
    worst = std::max(worst, shares[rank].skew_tv);
    append(skew, names[rank], shares[rank].skew_tv);
    append(rows, names[rank], shares[rank].rows_owned);
    append(batch, names[rank],
           double(current.shares[rank].batch_weight) * double(global_batch) /
               double(std::max<uint64_t>(1, weights)));
  }
  return {{"skew_tv_max", worst},
          {"skew_tv", std::move(skew)},
          {"rows", std::move(rows)},
          {"batch", std::move(batch)}};
}

} // namespace ballast
