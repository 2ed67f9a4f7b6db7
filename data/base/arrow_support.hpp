/// Converts Arrow's errors to ballast_error. Includes Arrow; for source files
/// of data/ only.
#pragma once

#include "runtime/base/errors.hpp"

#include <arrow/result.h>
#include <arrow/status.h>
#include <string>
#include <utility>

namespace ballast::data {

/// Throws ballast_error{code} "context: Arrow's message" unless ok; a full disk
/// is disk_full whatever `code` says.
void check_arrow(const arrow::Status& status, errc code,
                 const std::string& context);

template <class T>
T take_arrow(arrow::Result<T> result, errc code, const std::string& context) {
  if (!result.ok())
    check_arrow(result.status(), code, context);
  return std::move(result).ValueUnsafe();
}

} // namespace ballast::data
