/// A list that is copied as a pointer, such as the intervals of a share: the
/// plan that follows another shares all lists with it that it leaves alone, and
/// that two lists are the same is seen at once where they are one. Reads like a
/// const std::vector; the first change after a copy makes a list of its own.
/// Different objects may be used on different threads, copies of one list too.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace ballast {

template <class T>
class shared_list {
public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  shared_list() = default;
  shared_list(std::vector<T> what) // NOLINT: stands for it
      : held_(what.empty()
                  ? nullptr
                  : std::make_shared<std::vector<T>>(std::move(what))) {}
  shared_list(std::initializer_list<T> what)
      : shared_list(std::vector<T>(what)) {}

  const std::vector<T>& list() const {
    static const std::vector<T> none;
    return held_ ? *held_ : none;
  }
  operator const std::vector<T>&() const { return list(); } // NOLINT

  size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const T& operator[](size_t i) const { return (*held_)[i]; }
  const T& at(size_t i) const { return list().at(i); }
  const T& front() const { return held_->front(); }
  const T& back() const { return held_->back(); }
  const_iterator begin() const { return list().begin(); }
  const_iterator end() const { return list().end(); }

  /// Of this object alone, to be changed; good until the object is copied.
  std::vector<T>& own() {
    if (!held_)
      held_ = std::make_shared<std::vector<T>>();
    else if (held_.use_count() > 1)
      held_ = std::make_shared<std::vector<T>>(*held_);
    return *held_;
  }
  void push_back(T one) { own().push_back(std::move(one)); }
  void pop_back() { own().pop_back(); }
  void clear() { held_.reset(); }

  friend bool operator==(const shared_list& a, const shared_list& b) {
    return a.held_ == b.held_ || a.list() == b.list();
  }

private:
  std::shared_ptr<std::vector<T>> held_; // null: empty
};

} // namespace ballast
