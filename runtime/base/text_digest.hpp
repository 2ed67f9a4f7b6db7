/// A digest of text that must be equal in two lives of a run; the same on every
/// machine. Detects accidental changes, not attacks. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ballast {

/// The digest of `text` appended to the text whose digest is `before`.
uint64_t text_digest(uint64_t before, std::string_view text);

/// 16 lower-case hex digits.
std::string digest_text(uint64_t digest);

} // namespace ballast
