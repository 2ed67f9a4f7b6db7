#include "runtime/base/node_name.hpp"

namespace ballast {

namespace {

bool allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

} // namespace

bool is_node_name(std::string_view name) {
  if (name.empty() || name.size() > node_name_max || name[0] == '.' ||
      name[0] == '-')
    return false;
  for (char c : name)
    if (!allowed(c))
      return false;
  return true;
}

std::string node_name_mistake(std::string_view name) {
  std::string shown;
  for (char c : name.substr(0, node_name_max))
    shown += allowed(c) || c == '/' || c == ' ' ? c : '?';
  if (name.size() > node_name_max)
    shown += "...";
  return "the name '" + shown +
         "' is not allowed for a node: expected letters, digits, '.', '_' and "
         "'-', at most 64, not beginning with '.' or '-'; start the node with "
         "another --name";
}

std::string to_node_name(std::string_view wish) {
  std::string out;
  for (char c : wish.substr(0, node_name_max))
    out += allowed(c) ? c : '-';
  if (out.empty() || out[0] == '.' || out[0] == '-')
    out = ("node" + out).substr(0, node_name_max);
  return out;
}

} // namespace ballast
