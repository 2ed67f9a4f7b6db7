#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

namespace ballast {

namespace {

template <class Json>
std::string write(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::string json_text(const nlohmann::json& value) {
  return write(value, -1);
}

std::string json_text(const nlohmann::ordered_json& value) {
  return write(value, -1);
}

std::string json_lines_text(const nlohmann::json& value) {
  return write(value, 2);
}

std::string json_lines_text(const nlohmann::ordered_json& value) {
  return write(value, 2);
}

} // namespace ballast
