/// IDX, the format of MNIST and similar sets: two zero bytes, a type, the
/// number of dimensions, the dimensions, then the values, all big-endian.
#include "data/source/idx_source.hpp"
#include "data/source/source_error.hpp"
#include "data/source/source_file.hpp"
#include "data/source/source_table.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ballast::data {

namespace {

enum class idx_type : uint8_t {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0B,
  int32 = 0x0C,
  float32 = 0x0D,
  float64 = 0x0E,
};

struct idx_header {
  idx_type type{};
  uint32_t value_bytes = 0;
  std::vector<uint32_t> dimensions;
};

/// One IDX file; `pointer` names the field of the job.
struct idx_file {
  source_file file;
  std::string pointer;
  idx_header header;

  [[noreturn]] void refuse(const std::string& why,
                           const std::string& detail = {}) const {
    throw source_error(printable(file.path()) + ": " + why, pointer, detail);
  }
};

uint32_t big_endian(const unsigned char* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 |
         at[3];
}

void read_exactly(idx_file& in, void* to, size_t bytes) {
  const size_t got = in.file.read(to, bytes);
  if (got < bytes)
    in.refuse("is truncated: " + std::to_string(bytes - got) +
              " bytes are missing at its end; fetch the file again");
}

void read_header(idx_file& in) {
  unsigned char magic[4];
  read_exactly(in, magic, 4);
  const bool known = magic[2] == 0x08 || magic[2] == 0x09 ||
                     (magic[2] >= 0x0B && magic[2] <= 0x0E);
  if (magic[0] != 0 || magic[1] != 0 || !known || magic[3] == 0 || magic[3] > 8)
    in.refuse(
        "is no IDX file; expected it to begin with 0000, a type (08 to "
        "0e) and 1 to 8 dimensions",
        "it begins with " + [&] {
          std::string hex;
          for (unsigned char byte : magic)
            for (int nibble : {byte >> 4, byte & 15})
              hex += "0123456789abcdef"[nibble];
          return hex;
        }());
  in.header.type = idx_type(magic[2]);
  in.header.value_bytes = magic[2] <= 0x09   ? 1
                          : magic[2] == 0x0B ? 2
                          : magic[2] == 0x0E ? 8
                                             : 4;
  for (int i = 0; i < magic[3]; ++i) {
    unsigned char bytes[4];
    read_exactly(in, bytes, 4);
    in.header.dimensions.push_back(big_endian(bytes));
  }
}

/// Values of all dimensions but the first `from`; checked against the size.
uint64_t values_in(const idx_file& in, size_t from) {
  uint64_t values = 1;
  for (size_t i = from; i < in.header.dimensions.size(); ++i)
    if (__builtin_mul_overflow(values, in.header.dimensions[i], &values))
      in.refuse("claims more values than any file holds");
  return values;
}

growing_bytes read_values(idx_file& in) {
  uint64_t bytes = values_in(in, 0);
  if (__builtin_mul_overflow(bytes, in.header.value_bytes, &bytes) ||
      bytes > in.file.bytes_at_most())
    in.refuse("is truncated: its header claims " +
              std::to_string(in.header.dimensions[0]) +
              " rows, more than the file can hold; fetch the file again");
  growing_bytes out(bytes);
  read_exactly(in, out.data(), out.size());
  unsigned char beyond;
  if (in.file.read(&beyond, 1) != 0)
    in.refuse("has more bytes than its header claims");
  return out;
}

/// One value of the file's type, from big-endian bytes.
double value_at(const unsigned char* at, idx_type type) {
  switch (type) {
  case idx_type::uint8:
    return *at;
  case idx_type::int8:
    return int8_t(*at);
  case idx_type::int16:
    return int16_t(at[0] << 8 | at[1]);
  case idx_type::int32:
    return int32_t(big_endian(at));
  case idx_type::float32: {
    const uint32_t bits = big_endian(at);
    float out;
    std::memcpy(&out, &bits, sizeof(out));
    return out;
  }
  case idx_type::float64:
    break;
  }
  const uint64_t bits = uint64_t{big_endian(at)} << 32 | big_endian(at + 4);
  double out;
  std::memcpy(&out, &bits, sizeof(out));
  return out;
}

template <class T>
growing_bytes converted(const growing_bytes& from, const idx_file& in,
                        uint64_t values_a_row) {
  const size_t step = in.header.value_bytes;
  const size_t count = from.size() / step;
  growing_bytes out(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const T to = T(value_at(from.data() + i * step, in.header.type));
    if constexpr (std::is_same_v<T, float>)
      if (!std::isfinite(to))
        in.refuse("row " + std::to_string(i / values_a_row + 1) + ", value " +
                  std::to_string(i % values_a_row + 1) +
                  " is NaN, infinite or too large; remove or replace it");
    std::memcpy(out.data() + i * sizeof(T), &to, sizeof(T));
  }
  return out;
}

void read_images(idx_file& in, source_table& out) {
  const uint64_t values_a_row = values_in(in, 1);
  if (values_a_row == 0 || values_a_row > UINT32_MAX)
    in.refuse("has rows of " + std::to_string(values_a_row) + " values");
  out.rows = in.header.dimensions[0];
  out.row.features = uint32_t(values_a_row);
  out.row.shape.assign(in.header.dimensions.begin() + 1,
                       in.header.dimensions.end());
  if (out.row.shape.empty())
    out.row.shape = {1};
  out.features = read_values(in);
  switch (in.header.type) {
  case idx_type::uint8:
    out.row.stored = ledger::stored_type::uint8;
    return;
  case idx_type::int8:
  case idx_type::int16:
    out.row.stored = ledger::stored_type::int16;
    out.features = converted<int16_t>(out.features, in, values_a_row);
    return;
  case idx_type::int32:
    out.row.stored = ledger::stored_type::int32;
    out.features = converted<int32_t>(out.features, in, values_a_row);
    return;
  case idx_type::float32:
  case idx_type::float64:
    out.row.stored = ledger::stored_type::float32;
    out.features = converted<float>(out.features, in, values_a_row);
  }
}

void read_labels(idx_file& in, label_kind kind, source_table& out) {
  const growing_bytes bytes = read_values(in);
  for (uint64_t row = 0; row < out.rows; ++row) {
    const double number =
        value_at(bytes.data() + row * in.header.value_bytes, in.header.type);
    if (kind == label_kind::target) {
      if (!std::isfinite(float(number)))
        in.refuse("row " + std::to_string(row + 1) +
                  ": the target is NaN, infinite or too large");
      out.targets.push_back(float(number));
    } else {
      if (!(number >= 0 && number < double(classes_max) &&
            number == std::trunc(number)))
        in.refuse("row " + std::to_string(row + 1) +
                      ": the label is out of range; class numbers are whole, "
                      "from 0 to " +
                      std::to_string(classes_max - 1),
                  "label " + std::to_string(number));
      out.labels.push_back(int32_t(number));
    }
  }
}

} // namespace

source_table read_idx_images(const std::string& path,
                             const source_request& request) {
  idx_file images{{path, request.pointer, request.stop}, request.pointer, {}};
  read_header(images);
  source_table out;
  out.files = {{path, 0}};
  read_images(images, out);
  return out;
}

source_table read_idx(const source_spec& spec, const source_request& request) {
  const std::string images_field = request.pointer + "/images";
  const std::string labels_field = request.pointer + "/labels";
  idx_file images{{spec.images, images_field, request.stop}, images_field, {}};
  idx_file labels{{spec.labels, labels_field, request.stop}, labels_field, {}};
  read_header(images);
  read_header(labels);
  if (labels.header.dimensions.size() != 1)
    labels.refuse("has " + std::to_string(labels.header.dimensions.size()) +
                  " dimensions, labels have one; are images and labels "
                  "exchanged?");
  if (images.header.dimensions[0] != labels.header.dimensions[0])
    labels.refuse("has " + std::to_string(labels.header.dimensions[0]) +
                  " labels for the " +
                  std::to_string(images.header.dimensions[0]) + " rows of " +
                  spec.images + "; the counts must agree");
  source_table out;
  out.label = "label";
  out.files = {{spec.images, 0}};
  read_images(images, out);
  read_labels(labels, request.label, out);
  return out;
}

} // namespace ballast::data
