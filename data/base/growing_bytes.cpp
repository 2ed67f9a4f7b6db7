#include "data/base/growing_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace ballast::data {

namespace {

constexpr size_t page = 4096;
/// Asked for in such steps at least, so that the kernel is not asked for each
/// batch of rows.
constexpr size_t step = size_t{1} << 20;

size_t whole_pages(size_t bytes) {
  return (bytes + page - 1) / page * page;
}

} // namespace

growing_bytes::growing_bytes(const growing_bytes& other) {
  *this = other;
}

growing_bytes::growing_bytes(std::initializer_list<unsigned char> bytes) {
  resize(bytes.size());
  std::copy(bytes.begin(), bytes.end(), data_);
}

bool operator==(const growing_bytes& a, const growing_bytes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

growing_bytes& growing_bytes::operator=(const growing_bytes& other) {
  if (this == &other)
    return *this;
  resize(other.size_);
  if (size_ > 0)
    std::memcpy(data_, other.data_, size_);
  return *this;
}

growing_bytes::~growing_bytes() {
  if (data_ != nullptr)
    ::munmap(data_, room_);
}

void growing_bytes::take_room(size_t room) {
  if (room == room_)
    return;
  void* found = nullptr;
  if (room == 0)
    ::munmap(data_, room_);
  else if (data_ == nullptr)
    found = ::mmap(nullptr, room, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  else
    found = ::mremap(data_, room_, room, MREMAP_MAYMOVE);
  if (found == MAP_FAILED)
    throw std::bad_alloc();
  data_ = static_cast<unsigned char*>(found);
  room_ = room;
}

void growing_bytes::resize(size_t size) {
  if (size > room_) {
    // Untouched pages cost nothing but addresses.
    const size_t more = std::max(step, room_ / 2);
    const bool first = data_ == nullptr;
    take_room(whole_pages(first ? size : std::max(size, room_ + more)));
    // Without huge pages a large source costs a fault for each 4 KiB.
    ::madvise(data_, room_, MADV_HUGEPAGE);
  }
  size_ = size;
}

void growing_bytes::shrink_to_fit() {
  take_room(whole_pages(size_));
}

} // namespace ballast::data
