/// Rows of an ORC file, stripe by stripe. Only chosen columns are read.
///
/// One thread. Errors: ballast_error{invalid_data} with the file's name. What
/// is said about a damaged file has a limit: the format has no checksums, and
/// the library under Arrow asks for as much memory as the length of a text
/// claims, outside limited_pool(). Such a page can end the process.
#pragma once

#include "data/source/record_stream.hpp"
#include "data/source/stream_file.hpp"

#include <memory>

namespace ballast::data {

std::unique_ptr<record_stream> open_orc_stream(stream_input input);

} // namespace ballast::data
