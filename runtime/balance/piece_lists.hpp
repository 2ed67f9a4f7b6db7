/// Which pieces end at which worker. A piece is taken out in constant time, and
/// the others keep their order: the oldest first, as decisions between equal
/// pieces depend on it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::balance {

class piece_lists {
public:
  explicit piece_lists(size_t ranks)
      : first_(ranks, none), last_(ranks, none) {}

  size_t ranks() const { return first_.size(); }

  /// The piece is in no list yet.
  void append(uint32_t rank, size_t piece) {
    if (links_.size() <= piece)
      links_.resize(piece + 1);
    links_[piece] = {last_[rank], none};
    (last_[rank] == none ? first_[rank] : links_[last_[rank]].next) = piece;
    last_[rank] = piece;
  }

  /// The piece is in the list of this rank.
  void remove(uint32_t rank, size_t piece) {
    const link out = links_[piece];
    (out.previous == none ? first_[rank] : links_[out.previous].next) =
        out.next;
    (out.next == none ? last_[rank] : links_[out.next].previous) = out.previous;
  }

  class iterator;
  struct list;
  list of(uint32_t rank) const;

private:
  static constexpr size_t none = ~size_t{0};
  struct link {
    size_t previous = none;
    size_t next = none;
  };
  std::vector<link> links_; // by piece
  std::vector<size_t> first_, last_;
};

class piece_lists::iterator {
public:
  iterator(const piece_lists& of, size_t at) : of_(&of), at_(at) {}
  size_t operator*() const { return at_; }
  iterator& operator++() {
    at_ = of_->links_[at_].next;
    return *this;
  }
  bool operator!=(const iterator& other) const { return at_ != other.at_; }

private:
  const piece_lists* of_;
  size_t at_;
};

struct piece_lists::list {
  iterator first, beyond;
  iterator begin() const { return first; }
  iterator end() const { return beyond; }
};

inline piece_lists::list piece_lists::of(uint32_t rank) const {
  return {{*this, first_[rank]}, {*this, none}};
}

} // namespace ballast::balance
