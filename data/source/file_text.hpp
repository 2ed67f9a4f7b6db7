/// A whole file in memory as text, unpacked where it is gzipped: for readers of
/// text that look back and ahead.
#pragma once

#include "data/source/file_system.hpp"
#include "store/work_watch.hpp"

#include <string>

namespace ballast::data {

/// ballast_error{invalid_data, unreachable, stopped} names the file.
std::string text_of_file(const stored_file& file, const std::string& pointer,
                         const store::work_watch& stop);

} // namespace ballast::data
