#include "monitor/used_samples.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/job/job.hpp"

#include <algorithm>
#include <iterator>

namespace ballast::monitor {

namespace {

using nlohmann::json;

/// Why no worker could have written that; empty: it could.
std::string
mistake_in_form(const json& used,
                const std::optional<sampling::importance_switch>& draws) {
  if (!draws)
    return "\"used\" is there, but the job has no train.importance";
  if (!used.is_array())
    return "\"used\" is " + json_text(used) + "; expected a list of samples";
  for (const json& id : used)
    if (!id.is_number_unsigned())
      return "\"used\" has " + json_text(id) + ", which is no sample";
  return {};
}

/// Either all samples are used, and the line does not say which, or exactly so
/// many; empty: it is so.
std::string mistake_in_number(uint64_t used, uint64_t given,
                              const sampling::importance_switch& draws) {
  const uint64_t drawn = draws.draws(uint32_t(given));
  if (drawn >= given)
    return "\"used\" is there, but of " + std::to_string(given) +
           " samples all are used";
  if (used != drawn)
    return "\"used\" has " + std::to_string(used) + " samples; of the " +
           std::to_string(given) + " of the step " + std::to_string(drawn) +
           " are drawn";
  return {};
}

} // namespace

std::vector<uint64_t> ids_at(const json& line, const char* key) {
  std::vector<uint64_t> out;
  for (const json& id : line.at(key))
    out.push_back(id.is_number_unsigned() ? id.get<uint64_t>() : UINT64_MAX);
  return out;
}

std::optional<sampling::importance_switch> draws_of(const json& job) {
  const json spec = job.at("train").value("importance", json::object());
  const std::string none = to_string(importance_score::none);
  if (spec.value("by", none) == none)
    return std::nullopt;
  return sampling::importance_switch(
      {.keep = spec.value("keep", importance_spec{}.keep)});
}

std::string
mistake_in_used(const json& line, const std::vector<uint64_t>& ids,
                const std::optional<sampling::importance_switch>& draws) {
  if (!line.contains("used"))
    return {};
  if (std::string wrong = mistake_in_form(line.at("used"), draws);
      !wrong.empty())
    return wrong;
  std::vector<uint64_t> given = ids;
  std::vector<uint64_t> used = ids_at(line, "used");
  std::sort(given.begin(), given.end());
  std::sort(used.begin(), used.end());
  // What train.sampling gives it twice it may use twice.
  std::vector<uint64_t> strange;
  std::set_difference(used.begin(), used.end(), given.begin(), given.end(),
                      std::back_inserter(strange));
  if (strange.empty())
    return mistake_in_number(used.size(), given.size(), *draws);
  return "\"used\" has sample " + std::to_string(strange.front()) +
         (std::binary_search(given.begin(), given.end(), strange.front())
              ? " more often than the \"ids\" of the step"
              : ", which is not among the \"ids\" of the step");
}

} // namespace ballast::monitor
