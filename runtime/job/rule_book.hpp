/// What the rules of a job's fields against each other report to.
#pragma once

#include "runtime/base/errors.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace ballast {

/// Collects mistakes; skips a rule if one of its fields has a mistake already.
class rule_book {
public:
  explicit rule_book(std::vector<failure>& mistakes) : mistakes_(mistakes) {
    for (const failure& m : mistakes)
      wrong_.push_back(m.pointer);
  }

  /// `message` concerns all of `fields` and is reported at the first of them.
  void refuse(const std::vector<std::string>& fields,
              const std::string& message) {
    for (const std::string& field : fields)
      if (is_wrong(field))
        return;
    mistakes_.push_back(
        {errc::invalid_job, fields[0] + ": " + message, fields[0]});
  }

private:
  /// True if there is a mistake at the field, above it, or in one of its items.
  bool is_wrong(const std::string& field) const {
    auto inside = [](const std::string& inner, const std::string& outer) {
      return inner == outer || inner.rfind(outer + "/", 0) == 0;
    };
    return std::any_of(wrong_.begin(), wrong_.end(), [&](const std::string& w) {
      return w.empty() || inside(field, w) || inside(w, field);
    });
  }

  std::vector<failure>& mistakes_;
  std::vector<std::string> wrong_;
};

} // namespace ballast
