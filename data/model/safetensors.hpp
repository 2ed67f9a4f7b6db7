/// Reads and writes `.safetensors` files: 8 bytes header length, a JSON header,
/// the raw little-endian values. Used for the final model, for checkpoints, and
/// for warm starts. Writes float32; other number types are converted to float32
/// when read.
///
/// Errors: ballast_error, always with the file's name. A file is written under
/// a temporary name in the same folder, synced and renamed: it is complete or
/// absent after any crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

struct number_type;

/// A view of a tensor.
struct tensor_view {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const float> values; // product of shape, row-major
};

/// The content of a file.
struct tensor_file {
  std::map<std::string, std::string> metadata;
  std::vector<tensor_view> tensors; // in file order; views into `values`
  std::vector<float> values;
  std::set<std::string> integers; // tensors with an integer type there

  /// Null if there is no tensor of that name.
  const tensor_view* find(const std::string& name) const;

  tensor_file() = default;
  tensor_file(tensor_file&&) = default; // moving keeps the views valid
  tensor_file& operator=(tensor_file&&) = default;
};

/// A file that is not there as one piece: its header, and the tensors where
/// they lie, which come behind it one after another.
struct safetensors_image {
  std::string header; // with its length before it
  std::vector<tensor_view> tensors;

  uint64_t bytes() const;
  /// Its bytes from `at` on, as many as `to` takes. Precondition: it has them.
  void copy(uint64_t at, std::span<char> to) const;
  /// The same bytes where they lie, one span behind the other.
  void visit(uint64_t at, uint64_t count,
             const std::function<void(std::string_view)>& use) const;
};

/// Tensors in the order of their names. Errors: internal (duplicate names,
/// shape and values differ).
safetensors_image
image_of(const std::vector<tensor_view>& tensors,
         const std::map<std::string, std::string>& metadata = {});
/// The same as bytes.
std::string
safetensors_bytes(const std::vector<tensor_view>& tensors,
                  const std::map<std::string, std::string>& metadata = {});

/// Errors: invalid_data for a file that is missing or truncated, has too large
/// a header, has gaps or overlaps, or holds a type or a number that float32
/// cannot represent (complex, 8-bit floats, a float64 beyond its range).
tensor_file read_safetensors(const std::string& path);
/// Parses bytes; `name` is for messages.
tensor_file parse_safetensors(std::string_view bytes, const std::string& name);

/// Where a tensor lies behind the header.
struct tensor_place {
  std::string name;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool float32 = true; // as this writes them
  std::vector<int64_t> shape = {};
  const number_type* type = nullptr; // of tensor_places, never null
};
/// Of a header's text, in the order of the file; errors as above. A file whose
/// header claims more than safetensors_header_max bytes is none.
std::vector<tensor_place>
tensor_places(const std::string& header, const std::string& name,
              std::map<std::string, std::string>& metadata);
constexpr uint64_t safetensors_header_max = 100'000'000; // as its reader

/// SHA-256 as 64 hex digits over the raw little-endian bytes of all tensors,
/// ordered by name.
std::string weights_sha256(const std::vector<tensor_view>& tensors);

} // namespace ballast::data
