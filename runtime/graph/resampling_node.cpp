#include "runtime/graph/resampling_node.hpp"

#include <nlohmann/json.hpp>

namespace ballast::graph {

resampling_result resampling_of(const node& one) {
  std::vector<std::string> words;
  for (const auto& [name, text] :
       value_of<std::map<std::string, std::string>>(one, "options")) {
    const auto value = nlohmann::json::parse(text);
    words.push_back(name + "=" +
                    (value.is_string() ? value.get<std::string>() : text));
  }
  return parse_resampling(value_of<std::string>(one, "method"), words);
}

} // namespace ballast::graph
