#include "cli/completion.hpp"

#include "runtime/job/job_field.hpp"
#include "runtime/messages/control.hpp"

#include <nlohmann/json.hpp>
#include <set>

namespace ballast::cli {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += (out.empty() ? "" : " ") + word;
  return out;
}

/// "key=" of each key that messages of a type have beside their head.
std::vector<std::string> keys_of(const nlohmann::json& type) {
  static const std::set<std::string> head = {"version", "id", "type"};
  std::vector<std::string> out;
  for (const auto& [key, about] : type.at("properties").items())
    if (!head.contains(key))
      out.push_back(key + "=");
  return out;
}

/// "/pointer=" of each field that can be set.
std::vector<std::string> settable() {
  std::set<std::string> pointers; // fields may have several variants
  for (const job_field& one : job_fields({true, 1}))
    pointers.insert(one.pointer + "=");
  return {pointers.begin(), pointers.end()};
}

} // namespace

std::string bash_completion(const std::vector<std::string>& commands) {
  std::string out = "_ballast() {\n"
                    "  local current=${COMP_WORDS[COMP_CWORD]} words=\n"
                    "  local before=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "  compopt +o nospace\n"
                    "  if [[ $COMP_CWORD == 1 ]]; then\n"
                    "    words='" +
                    joined(commands) +
                    "'\n"
                    "  elif [[ $before == --set ]]; then\n"
                    "    compopt -o nospace\n"
                    "    words='" +
                    joined(settable()) +
                    "'\n"
                    "  elif [[ ${COMP_WORDS[1]} == ctl && $COMP_CWORD == 2 ]]; "
                    "then\n"
                    "    words='" +
                    joined(control_types()) +
                    "'\n"
                    "  elif [[ ${COMP_WORDS[1]} == ctl && $before != --to ]]; "
                    "then\n"
                    "    compopt -o nospace\n"
                    "    case ${COMP_WORDS[2]} in\n";
  const nlohmann::json schema = control_schema();
  for (const nlohmann::json& type : schema.at("oneOf"))
    if (const auto keys = keys_of(type); !keys.empty())
      out += "    " + type.at("title").get<std::string>() + ") words='" +
             joined(keys) + "' ;;\n";
  return out + "    esac\n"
               "  fi\n"
               "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
               "}\n"
               "complete -o default -F _ballast ballast\n";
}

} // namespace ballast::cli
