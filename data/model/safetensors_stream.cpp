#include "data/model/safetensors_stream.hpp"

#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ballast::data {

namespace {

constexpr size_t length_bytes = sizeof(uint64_t);

uint64_t length_in(const std::string& header) {
  uint64_t out = 0;
  std::memcpy(&out, header.data(), length_bytes);
  return out;
}

} // namespace

safetensors_stream::safetensors_stream(std::string name, header_reader begun,
                                       value_reader came)
    : name_(std::move(name)), begun_(std::move(begun)), came_(std::move(came)) {
}

void safetensors_stream::read_header() {
  std::map<std::string, std::string> metadata;
  tensors_ = tensor_places(header_.substr(length_bytes), name_, metadata);
  is_begun_ = true;
  begun_(tensors_, std::move(metadata));
}

void safetensors_stream::update(std::string_view bytes) {
  while (!is_begun_ && !bytes.empty()) {
    const bool knows = header_.size() >= length_bytes;
    if (knows && length_in(header_) > safetensors_header_max)
      throw ballast_error(errc::invalid_data,
                          name_ +
                              ": no valid safetensors file: its header "
                              "claims " +
                              std::to_string(length_in(header_)) + " bytes");
    const size_t wanted = length_bytes + (knows ? length_in(header_) : 0);
    const size_t taken = std::min(bytes.size(), wanted - header_.size());
    header_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (header_.size() >= length_bytes &&
        header_.size() == length_bytes + length_in(header_))
      read_header();
  }
  const uint64_t begin = at_;
  at_ += bytes.size();
  for (; next_ < tensors_.size() && tensors_[next_].begin < at_; ++next_) {
    const tensor_place& one = tensors_[next_];
    const uint64_t from = std::max(one.begin, begin);
    const uint64_t to = std::min(one.end, at_);
    if (to > from)
      came_(next_, from - one.begin, bytes.substr(from - begin, to - from));
    if (one.end > at_)
      return; // the rest of it comes with the next piece
  }
}

void safetensors_stream::end() const {
  const uint64_t end = tensors_.empty() ? 0 : tensors_.back().end;
  if (!is_begun_ || at_ != end)
    throw ballast_error(errc::invalid_data,
                        name_ + ": no valid safetensors file: it has " +
                            std::to_string(at_) +
                            " bytes behind its header, its tensors take " +
                            std::to_string(end));
}

} // namespace ballast::data
