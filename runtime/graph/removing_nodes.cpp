#include "runtime/graph/removing_nodes.hpp"

#include "runtime/graph/check_rules.hpp"

#include <algorithm>

namespace ballast::graph {

bool removes_rows(const node& one) {
  if (one.what == op::check) {
    const std::vector<check_rule> rules = check_rules_of(one).rules;
    return std::any_of(rules.begin(), rules.end(), [](const check_rule& rule) {
      return rule.then == check_action::remove;
    });
  }
  if (one.what == op::impute)
    return value_of<std::string>(one, "strategy") == "drop";
  if (one.what == op::clip_outliers)
    return value_of<std::string>(one, "action") == "remove";
  return one.what == op::distinct;
}

} // namespace ballast::graph
