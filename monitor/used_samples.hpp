/// What a line of a trace says of the samples that importance sampling drew.
/// What a worker was given is compared with the ledger; what it used, with
/// that. Pure; any thread.
#pragma once

#include "runtime/sampling/importance.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::monitor {

/// UINT64_MAX for what is no number.
std::vector<uint64_t> ids_at(const nlohmann::json& line, const char* key);

/// How many of its samples a worker draws; nothing: it uses all of them. Jobs
/// of earlier builds do not say.
std::optional<sampling::importance_switch> draws_of(const nlohmann::json& job);

/// Why "used" of this line is wrong, whose "ids" are these; empty: it is not.
std::string
mistake_in_used(const nlohmann::json& line, const std::vector<uint64_t>& ids,
                const std::optional<sampling::importance_switch>& draws);

} // namespace ballast::monitor
