/// The rule of one column, bound to its type: which values of a batch break
/// it, why, and what becomes of them. Includes Arrow; for source files of data/
/// only.
///
/// Immutable but for what Arrow's kernels keep: one thread. Errors:
/// ballast_error at the rule's pointer, when it is made.
#pragma once

#include "data/expression/expression.hpp"
#include "runtime/graph/check_rules.hpp"
#include "runtime/job/job_words.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

class column_check {
public:
  /// `type`: of the column that comes in; `pointer`: of the node.
  column_check(graph::check_rule rule,
               const std::shared_ptr<arrow::DataType>& type,
               const std::string& pointer);

  const graph::check_rule& rule() const { return rule_; }
  /// Of the column that goes on.
  const std::shared_ptr<arrow::DataType>& type() const { return type_; }

  struct checked {
    std::shared_ptr<arrow::Array> values; // clipped, or null, as the rule says
    std::vector<uint8_t> broken;          // by row: a part that it breaks, or 0
  };
  checked check(const std::shared_ptr<arrow::Array>& column) const;
  /// What a user is told of a part of the rule.
  std::string reason(uint8_t part) const;

private:
  enum part : uint8_t { kept, of_type, missing, low, high, pattern, set };

  void bind_type(const std::shared_ptr<arrow::DataType>& from);
  void bind_limits();
  void bind_pattern(const arrow::DataType& from);
  void bind_set();
  /// What breaks a limit: for which `function`(value, scalar) is true. Without
  /// a scalar nothing does.
  struct bound_limit {
    const char* function = nullptr;
    std::shared_ptr<arrow::Scalar> scalar = nullptr;
  };
  bound_limit limit_of(const graph::check_limit& limit, bool is_low) const;
  bound_limit whole_limit(const graph::check_limit& limit, bool is_low) const;
  std::shared_ptr<arrow::Scalar> scalar_of(const graph::check_value& value,
                                           const std::string& key) const;
  [[noreturn]] void refuse(const std::string& key,
                           const std::string& why) const;
  std::shared_ptr<arrow::Array>
  converted(const std::shared_ptr<arrow::Array>& column,
            std::vector<uint8_t>& broken) const;

  const graph::check_rule rule_;
  const std::string pointer_;
  std::shared_ptr<arrow::DataType> type_;
  bool is_text_ = false; // what comes in, and becomes another type:
  column_type cells_{};
  std::optional<bound_expression> cast_; // of another type than text
  bound_limit low_;
  bound_limit high_;
  std::shared_ptr<arrow::Array> set_;
};

} // namespace ballast::data
