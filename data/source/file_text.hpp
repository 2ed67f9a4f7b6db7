/// A file as text, read forward, unpacked where it is gzipped: for readers of
/// text that cut it themselves.
#pragma once

#include "data/source/file_system.hpp"
#include "store/work_watch.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace ballast::data {

/// Fills `to` and returns the bytes read, fewer only at the end. One thread.
/// ballast_error{invalid_data, unreachable, stopped} names the file.
using text_input = std::function<size_t(char* to, size_t bytes)>;

/// `whole_max` as open_file() has it.
text_input text_of_file(const stored_file& file, const std::string& pointer,
                        const store::work_watch& stop, uint64_t whole_max);

} // namespace ballast::data
