/// The tensors of a `.safetensors` file on their way to where they belong:
/// read there by several threads, so that nothing as large as the file is held
/// beside it.
///
/// Errors: ballast_error{invalid_data} as of safetensors.hpp, with the file's
/// name. Any thread.
#pragma once

#include "data/model/safetensors.hpp"
#include "runtime/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

class weights_file {
public:
  /// Reads the header.
  explicit weights_file(const std::string& path);

  const std::vector<tensor_place>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }
  /// Null if there is no tensor of that name.
  const tensor_place* find(const std::string& name) const;

  struct wish {
    const tensor_place* tensor = nullptr;
    std::span<float> to; // as many as its values
  };
  void read(const std::vector<wish>& wishes, size_t threads) const;
  bool equals(const tensor_place& tensor, std::span<const float> values) const;

private:
  /// Its values from `first` on.
  void read_piece(const tensor_place& of, uint64_t first,
                  std::span<float> to) const;
  void read_bytes(uint64_t at, std::span<char> to) const;

  std::string path_;
  unique_fd file_;
  uint64_t values_begin_ = 0; // of the file's bytes
  std::vector<tensor_place> tensors_;
  std::map<std::string, std::string> metadata_;
};

} // namespace ballast::data
