/// Gives the tree of an expression the columns of a schema: finds names, checks
/// types, inserts the casts that keep values, and makes an Arrow expression of
/// it. Includes Arrow; for source files of data/expression/ only. One owner;
/// errors point into the text.
#pragma once

#include "data/expression/expression_text.hpp"
#include "data/expression/syntax.hpp"
#include "data/expression/type_rules.hpp"

#include <arrow/compute/api.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class expression_binder {
public:
  expression_binder(const expression_source& source,
                    const arrow::Schema& schema)
      : source_(source), schema_(schema) {}

  /// Not bound in Arrow's sense: columns are named.
  typed_expression bind(const expression_node& node);

  [[noreturn]] void refuse(const expression_node& node,
                           const std::string& what) const {
    refuse_at(source_, node.at, what);
  }
  /// A call, after what its arguments need is done; Arrow knows its type. If
  /// Arrow has no such form, the error says what was written (`written`, or the
  /// function's name).
  typed_expression
  call(const expression_node& node, const std::string& function,
       std::vector<typed_expression> arguments,
       std::shared_ptr<arrow::compute::FunctionOptions> options = nullptr,
       const std::string& written = {}) const;
  /// As another type; an error names the value that does not fit.
  typed_expression as(const typed_expression& part,
                      const std::shared_ptr<arrow::DataType>& type) const;
  /// Brings all of them to one type, or refuses: WHAT "needs values of one
  /// type".
  void unite(const expression_node& node, const std::string& what,
             std::vector<typed_expression>& parts, literal_use use) const;
  /// Refuses what is no truth; null becomes a bool.
  typed_expression truth(const expression_node& node, const std::string& what,
                         const typed_expression& part) const;

  typed_expression compare(const expression_node& node,
                           const std::string& symbol, typed_expression left,
                           typed_expression right) const;
  typed_expression calculate(const expression_node& node,
                             const std::string& symbol, typed_expression left,
                             typed_expression right) const;
  typed_expression negate(const expression_node& node,
                          typed_expression operand) const;

private:
  typed_expression column(const expression_node& node) const;
  typed_expression join(const expression_node& node);
  typed_expression in_list(const expression_node& node);
  typed_expression between(const expression_node& node);
  typed_expression like(const expression_node& node);
  typed_expression cast(const expression_node& node);
  typed_expression invert(const expression_node& node,
                          typed_expression operand) const;
  std::vector<typed_expression> children_of(const expression_node& node);
  void refuse_null_literal(const expression_node& node,
                           const typed_expression& left,
                           const typed_expression& right) const;

  const expression_source& source_;
  const arrow::Schema& schema_;
};

/// "city (text)": what an error says about an operand.
std::string describe(const typed_expression& part);

/// A call by name: of the friendly aliases, or of any scalar function of
/// Arrow's registry that needs no options.
typed_expression bind_call(expression_binder& binder,
                           const expression_node& node,
                           std::vector<typed_expression> arguments);
/// Registers Arrow's compute functions; any thread, any number of times.
void prepare_functions();

} // namespace ballast::data
