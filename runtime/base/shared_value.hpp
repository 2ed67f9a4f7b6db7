/// An immutable value that one decision puts into the orders of all workers,
/// such as a plan. It is made once, copied as a pointer and serialised once, so
/// that orders for a thousand workers do not cost a thousand copies of the
/// plan. Reads like a const T.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace ballast {

template <class T>
class shared_value {
public:
  shared_value() : shared_value(T{}) {}
  /// `bytes`: the serialised form, if it is known already.
  shared_value(T what, std::string bytes = {}) // NOLINT: stands for it
      : held_(std::make_shared<const held>(
            held{std::move(what), std::move(bytes)})) {}

  const T& operator*() const { return held_->what; }
  const T* operator->() const { return &held_->what; }
  operator const T&() const { return held_->what; } // NOLINT
  friend bool operator==(const shared_value& a, const shared_value& b) {
    return a.held_ == b.held_ || *a == *b;
  }
  /// Empty if the value is not serialised yet.
  const std::string& bytes() const { return held_->bytes; }

private:
  struct held {
    T what;
    std::string bytes;
  };
  std::shared_ptr<const held> held_;
};

} // namespace ballast
