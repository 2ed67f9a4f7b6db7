/// The card of a model: what it is, what goes in and comes out, what it was
/// trained on and how good it is, for those who did not train it (Mitchell et
/// al., *Model Cards for Model Reporting*, 2019, doi:10.1145/3287560.3287596).
/// Pure; taken from what the run has written, so it needs no other source.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ballast::data {

/// As a run directory has them; each an object.
struct card_facts {
  const nlohmann::json& job;
  const nlohmann::json& set;    // manifest.json
  const nlohmann::json& report; // report.json
  uint64_t parameters = 0;      // numbers in model.safetensors
};

nlohmann::ordered_json model_card(const card_facts& from);
/// The same for people: Markdown, with a head that hubs of models read.
std::string card_text(const nlohmann::ordered_json& card);

} // namespace ballast::data
