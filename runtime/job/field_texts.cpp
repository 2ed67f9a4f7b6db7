/// What a field allows, in words.
#include "runtime/base/json_text.hpp"
#include "runtime/job/field_document.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using nlohmann::json;

std::string number_text(double number) {
  // Plain digits as far as they are exact, else as short as JSON has it.
  if (number == std::floor(number) && std::abs(number) < 0x1p53)
    return json_text(json(int64_t(number)));
  return json_text(json(number));
}

} // namespace

std::string range_text(const field& of, const std::string& noun) {
  const field_range& r = of.range;
  if (r.low == r.high)
    return number_text(r.low);
  std::string low = r.low_excluded ? "above " : "from ";
  std::string high = std::isinf(r.high) ? ""
                     : r.high_excluded  ? " to below " + number_text(r.high)
                                        : " to " + number_text(r.high);
  return noun + " " + low + number_text(r.low) + high;
}

std::string allowed_texts(const field& of) {
  const std::string words = quoted_list(of.allowed);
  switch (of.text) {
  case text_kind::path_or_word:
    return words + ", or a path that ends in .safetensors";
  case text_kind::name:
    return "1 to 64 letters, digits, '.', '_' or '-', the first no '.' or '-'";
  case text_kind::path:
    return "a path";
  case text_kind::uri:
    return "a path, a glob or a URI";
  case text_kind::place:
    return "a folder or the URI of one";
  case text_kind::plain:
    break;
  }
  if (words.empty())
    return "text";
  return of.allowed.size() == 1 ? words : "one of " + words;
}

} // namespace ballast
