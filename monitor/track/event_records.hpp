/// Records of TensorBoard's event files: a TFRecord (length, data, and of each
/// a masked CRC-32C) that holds an `Event` with scalars. Formats:
/// tensorflow/core/lib/io/record_writer.h, tensorboard/compat/proto. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ballast::monitor {

/// The first record of a file.
std::string event_file_head(double wall_s);
/// Scalars of a step, by tag.
std::string
event_record(double wall_s, uint64_t step,
             std::span<const std::pair<std::string, double>> scalars);

/// Of Castagnoli (RFC 3720, appendix B.4).
uint32_t crc32c(std::string_view data);

} // namespace ballast::monitor
