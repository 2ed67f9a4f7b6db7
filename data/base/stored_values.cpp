#include "data/base/stored_values.hpp"

#include <cstdint>
#include <cstring>

namespace ballast::data {

using ledger::stored_type;

namespace {

template <class From, class To>
void convert_row(const unsigned char* from, size_t values, unsigned char* to) {
  for (size_t i = 0; i < values; ++i) {
    From one;
    std::memcpy(&one, from + i * sizeof(From), sizeof(From));
    const To other = To(one);
    std::memcpy(to + i * sizeof(To), &other, sizeof(To));
  }
}

template <class From>
void convert_row_from(const unsigned char* from, size_t values, stored_type as,
                      unsigned char* to) {
  switch (as) {
  case stored_type::uint8:
    return convert_row<From, uint8_t>(from, values, to);
  case stored_type::int16:
    return convert_row<From, int16_t>(from, values, to);
  case stored_type::int32:
    return convert_row<From, int32_t>(from, values, to);
  case stored_type::float32:
    return convert_row<From, float>(from, values, to);
  }
}

} // namespace

void convert_values(const unsigned char* from, stored_type is, size_t values,
                    stored_type as, unsigned char* to) {
  switch (is) {
  case stored_type::uint8:
    return convert_row_from<uint8_t>(from, values, as, to);
  case stored_type::int16:
    return convert_row_from<int16_t>(from, values, as, to);
  case stored_type::int32:
    return convert_row_from<int32_t>(from, values, as, to);
  case stored_type::float32:
    return convert_row_from<float>(from, values, as, to);
  }
}

} // namespace ballast::data
