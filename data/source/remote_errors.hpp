/// What a user is to see of an error of a remote store: whether a bucket or key
/// is missing, access is denied, or the server does not answer, and what to
/// check. Includes Arrow; for source files of data/ only. Pure.
#pragma once

#include "runtime/base/errors.hpp"

#include <arrow/status.h>

#include <string>

namespace ballast::data {

/// `name` as s3://bucket/key; its scheme tells whose errors these are.
failure explain_remote(const arrow::Status& status, const std::string& name,
                       const std::string& pointer);

} // namespace ballast::data
