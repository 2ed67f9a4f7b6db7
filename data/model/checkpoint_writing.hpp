/// How the files of a checkpoint are written: errors by name, and the points at
/// which a test may let writing fail. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace ballast::data {

/// Throws what errno says of `action` on the path: disk_full, or
/// run_dir_unusable.
[[noreturn]] void writing_failed(const std::filesystem::path& path,
                                 const char* action);
/// A point at which a fault may be injected; it fails as a write.
void reach_writing(const char* point, const std::filesystem::path& path);
/// All of `bytes` from that byte of the file on.
void write_bytes_at(int fd, uint64_t at, std::string_view bytes,
                    const std::filesystem::path& path);

} // namespace ballast::data
