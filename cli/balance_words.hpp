/// What `ballast ctl plan` and `ballast ctl explain` say: the fields of a
/// control reply (runtime/balance/explain.hpp) as a few lines for a person.
/// What is absent is left out. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::cli {

/// Who would give how many samples to whom and why, what that costs and wins.
std::string plan_words(const nlohmann::json& plan);

/// A line for each worker: its share, and why it has that. `only`: one worker,
/// with more lines; empty: all.
std::string worker_words(const std::vector<nlohmann::json>& workers,
                         const std::string& only = "");

std::string chunk_words(const nlohmann::json& chunk);

} // namespace ballast::cli
