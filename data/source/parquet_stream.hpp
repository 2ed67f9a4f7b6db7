/// The rows of a Parquet file as record batches, a row group at a time. Of
/// nested columns the schema tells, but they cannot be chosen.
#pragma once

#include "data/source/record_stream.hpp"

#include <memory>
#include <string>

namespace ballast::data {

/// `pointer`: the job's source, for errors.
std::unique_ptr<record_stream> open_parquet(const std::string& path,
                                            const std::string& pointer);

} // namespace ballast::data
