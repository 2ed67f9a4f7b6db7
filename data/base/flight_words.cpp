#include "data/base/flight_words.hpp"

#include <algorithm>
#include <string_view>

namespace ballast::data {

std::string words_in_flight_error(std::string text) {
  constexpr std::string_view before = "with message: ";
  if (const size_t at = text.find(before); at != std::string::npos)
    text.erase(0, at + before.size());
  for (const char* after :
       {". gRPC client debug context", " gRPC client debug context",
        ". Client context", ". Detail: "})
    text.erase(std::min(text.find(after), text.size()));
  return text;
}

} // namespace ballast::data
