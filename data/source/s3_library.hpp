/// S3 is a library of its own beside Arrow (libarrow_s3), 14 MB that only a job
/// with an s3:// URI loads. Includes Arrow; for source files of data/ only.
#pragma once

#include "runtime/base/errors.hpp"

#include <arrow/filesystem/filesystem.h>

#include <memory>
#include <string>

namespace ballast::data {

/// The store that a URI (of a bucket, without a key) lies in, and the path of
/// the bucket in it. Requests that fail for reasons that may pass are repeated
/// for some seconds. Any thread.
arrow::Result<std::shared_ptr<arrow::fs::FileSystem>>
open_s3(const std::string& uri, std::string* path);

/// Loads the library, once in a process. Throws ballast_error{not_in_build}
/// with the places that were searched. At exit the library is finalised, as it
/// would crash otherwise.
void load_s3(const std::string& pointer);

} // namespace ballast::data
