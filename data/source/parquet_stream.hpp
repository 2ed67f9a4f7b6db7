/// The rows of a Parquet file as record batches, a row group at a time. Of
/// nested columns the schema tells, but they cannot be chosen.
#pragma once

#include "data/source/record_stream.hpp"
#include "data/source/stream_file.hpp"

#include <memory>

namespace ballast::data {

std::unique_ptr<record_stream> open_parquet(stream_input input);

} // namespace ballast::data
