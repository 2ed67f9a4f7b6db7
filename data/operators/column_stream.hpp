/// Operators that give each row other columns: select, drop, rename, cast and
/// derive. Columns that nobody wants are neither read nor computed. Includes
/// Arrow; for source files of data/ only.
///
/// Their mistakes are found before a row is read: ballast_error{invalid_data}
/// of a column that is not there, {invalid_job} of an expression.
#pragma once

#include "data/expression/expression.hpp"
#include "data/operators/operator_stream.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

using stream_pointer = std::unique_ptr<record_stream>;

stream_pointer select_columns(stream_pointer from,
                              const std::vector<std::string>& columns,
                              operator_context context);
stream_pointer drop_columns(stream_pointer from,
                            const std::vector<std::string>& columns,
                            operator_context context);
/// Old names with the new ones.
stream_pointer rename_columns(stream_pointer from,
                              const std::map<std::string, std::string>& names,
                              operator_context context);
/// Columns with the types of `cast` in an expression.
stream_pointer cast_columns(stream_pointer from,
                            const std::map<std::string, std::string>& types,
                            operator_context context);
/// Columns with the expressions that make them.
stream_pointer derive_columns(stream_pointer from,
                              const std::map<std::string, std::string>& made,
                              operator_context context);

} // namespace ballast::data
