/// Bytes in a row that grow without being copied: the kernel moves their pages
/// instead. For the rows of a source, of which nobody knows before how many
/// there are. A value with one owner. Throws std::bad_alloc.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>

namespace ballast::data {

class growing_bytes {
public:
  using value_type = unsigned char;
  using const_iterator = const unsigned char*;

  growing_bytes() = default;
  explicit growing_bytes(size_t size) { resize(size); }
  growing_bytes(std::initializer_list<unsigned char> bytes);
  growing_bytes(growing_bytes&& other) noexcept { swap(other); }
  growing_bytes& operator=(growing_bytes&& other) noexcept {
    swap(other);
    return *this;
  }
  growing_bytes(const growing_bytes& other);
  growing_bytes& operator=(const growing_bytes& other);
  ~growing_bytes();

  unsigned char* data() { return data_; }
  const unsigned char* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  unsigned char operator[](size_t at) const { return data_[at]; }
  friend bool operator==(const growing_bytes& a, const growing_bytes& b);
  const unsigned char* begin() const { return data_; }
  const unsigned char* end() const { return data_ + size_; }
  /// New bytes hold anything.
  void resize(size_t size);
  /// Gives back what is beyond size().
  void shrink_to_fit();

private:
  void swap(growing_bytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }
  void take_room(size_t room);

  unsigned char* data_ = nullptr;
  size_t size_ = 0;
  size_t room_ = 0;
};

} // namespace ballast::data
