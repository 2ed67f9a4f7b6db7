/// The trackers that a run writes files for (job field `track`).
#pragma once

#include "runtime/base/words.hpp"

#include <array>
#include <cstdint>

namespace ballast {

enum class track_kind : uint8_t { tensorboard, csv };
template <>
inline constexpr auto words_of<track_kind> =
    std::to_array<std::string_view>({"tensorboard", "csv"});

} // namespace ballast
