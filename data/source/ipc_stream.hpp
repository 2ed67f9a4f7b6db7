/// Rows of an Arrow IPC file (Feather of version 2) or of an Arrow IPC stream
/// in a file; which of them is told by its content. Compressed buffers (lz4,
/// zstd) are unpacked, dictionaries decoded. Only chosen columns are read.
///
/// One thread. Errors: ballast_error{invalid_data} with the file's name, also
/// for what follows the end of a stream and for a stream without an end mark,
/// because rows might be missing.
#pragma once

#include "data/source/record_stream.hpp"
#include "data/source/stream_file.hpp"

#include <memory>

namespace ballast::data {

std::unique_ptr<record_stream> open_ipc_stream(stream_input input);

} // namespace ballast::data
