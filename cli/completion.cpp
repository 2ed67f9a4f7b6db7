#include "cli/completion.hpp"

#include "runtime/job/job_field.hpp"
#include "runtime/messages/control.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

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

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* command : app.get_subcommands(nullptr))
    if (!command->get_group().empty()) // not hidden
      out.push_back(command);
  return out;
}

/// Its options that have a name; --help is known everywhere.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> out;
  for (const CLI::Option* one : command.get_options())
    if (!one->get_lnames().empty() && one->get_lnames()[0] != "help" &&
        !one->get_group().empty())
      out.push_back(one);
  return out;
}

bool takes_value(const CLI::Option& of) {
  return of.get_type_size() != 0;
}

/// What may follow an option, if that is a matter of words; else a file.
std::string words_for(const CLI::Option& of) {
  return of.get_lnames()[0] == "set" ? joined(settable()) : "";
}

/// In single quotes of a shell, with a backslash before each of `special`.
std::string quoted(const std::string& text, const std::string& special,
                   const std::string& quote) {
  std::string out;
  for (const char one : text)
    if (one == '\'')
      out += quote;
    else
      out += special.find(one) == std::string::npos ? std::string(1, one)
                                                    : std::string("\\") + one;
  return out;
}
std::string for_zsh(const std::string& text) {
  return quoted(text, "[]:\\", "'\\''");
}
std::string for_fish(const std::string& text) {
  return quoted(text, "\\", "\\'");
}

std::string zsh_options(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* one : options_of(command)) {
    out += " \\\n      '*--" + one->get_lnames()[0] + "[" +
           for_zsh(one->get_description()) + "]";
    if (takes_value(*one)) {
      const std::string words = words_for(*one);
      out += words.empty() ? ":file:_files" : ":field:(" + words + ")";
    }
    out += "'";
  }
  return out;
}

} // namespace

std::string zsh_completion(const CLI::App& app) {
  std::string out = "#compdef ballast\n"
                    "_ballast() {\n"
                    "  local -a commands\n"
                    "  commands=(\n";
  for (const CLI::App* one : commands_of(app))
    out += "    '" + one->get_name() + ":" + for_zsh(one->get_description()) +
           "'\n";
  out += "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe -t commands command commands\n"
         "    return\n"
         "  fi\n"
         "  case $words[2] in\n";
  for (const CLI::App* one : commands_of(app)) {
    const bool ctl = one->get_name() == "ctl";
    out += "    " + one->get_name() + ") _arguments '1:command:'" +
           (ctl ? " '2:message:(" + joined(control_types()) + ")'" : "") +
           " '*:file:_files'" + zsh_options(*one) + " ;;\n";
  }
  return out + "  esac\n"
               "}\n"
               "if [[ $funcstack[1] == _ballast ]]; then\n"
               "  _ballast \"$@\"\n"
               "else\n"
               "  compdef _ballast ballast\n"
               "fi\n";
}

std::string fish_completion(const CLI::App& app) {
  std::string out;
  for (const CLI::App* one : commands_of(app)) {
    const std::string name = one->get_name();
    out += "complete -c ballast -f -n __fish_use_subcommand -a " + name +
           " -d '" + for_fish(one->get_description()) + "'\n";
    const std::string of = "complete -c ballast -n "
                           "'__fish_seen_subcommand_from " +
                           name + "'";
    if (name == "ctl")
      out += of + " -f -a '" + joined(control_types()) + "'\n";
    for (const CLI::Option* option : options_of(*one)) {
      out += of + " -l " + option->get_lnames()[0];
      const std::string words = words_for(*option);
      if (!words.empty())
        out += " -x -a '" + words + "'";
      else if (takes_value(*option))
        out += " -r";
      out += " -d '" + for_fish(option->get_description()) + "'\n";
    }
  }
  return out;
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const CLI::App* one : commands_of(app))
    commands.push_back(one->get_name());
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
