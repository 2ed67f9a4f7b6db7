/// A safetensors file whose bytes come piece by piece, without the file in
/// memory: first what its header says, then the bytes of each tensor. One
/// owner, one thread.
///
/// Errors: invalid_data for what is no such file, names it; and what the
/// callbacks throw.
#pragma once

#include "data/model/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

class safetensors_stream {
public:
  /// Before any bytes of tensors; `metadata` is the callee's to keep.
  using header_reader = std::function<void(const std::vector<tensor_place>&,
                                           std::map<std::string, std::string>)>;
  /// The bytes of tensor number `tensor` of these from its byte `at` on.
  using value_reader =
      std::function<void(size_t tensor, uint64_t at, std::string_view bytes)>;

  /// `name`: of the file, for messages.
  safetensors_stream(std::string name, header_reader begun, value_reader came);

  void update(std::string_view bytes);
  /// The last call: the file is whole.
  void end() const;

private:
  void read_header();

  const std::string name_;
  const header_reader begun_;
  const value_reader came_;
  std::string header_;    // until it is whole
  bool is_begun_ = false; // it is
  std::vector<tensor_place> tensors_;
  uint64_t at_ = 0; // bytes behind the header
  size_t next_ = 0; // the tensor that they reach
};

} // namespace ballast::data
