/// A digest of text for what must be equal between two lives of a run; the same
/// on every machine. Finds changes, not malice. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ballast {

/// Of `text` behind what `before` is the digest of.
uint64_t text_digest(uint64_t before, std::string_view text);

/// 16 lower-case hex digits.
std::string digest_text(uint64_t digest);

} // namespace ballast
