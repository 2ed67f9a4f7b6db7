/// A value that one decision puts into an order for every worker, as a plan:
/// made once, copied as a pointer, and packed once, so that the orders of a
/// thousand workers do not cost a thousand times the plan. Reads like a const
/// T.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace ballast {

template <class T>
class shared_value {
public:
  shared_value() : shared_value(T{}) {}
  /// `bytes`: how it travels, where that is known already.
  shared_value(T what, std::string bytes = {}) // NOLINT: stands for it
      : held_(std::make_shared<const held>(
            held{std::move(what), std::move(bytes)})) {}

  const T& operator*() const { return held_->what; }
  const T* operator->() const { return &held_->what; }
  operator const T&() const { return held_->what; } // NOLINT
  friend bool operator==(const shared_value& a, const shared_value& b) {
    return a.held_ == b.held_ || *a == *b;
  }
  /// Empty where they have to be made.
  const std::string& bytes() const { return held_->bytes; }

private:
  struct held {
    T what;
    std::string bytes;
  };
  std::shared_ptr<const held> held_;
};

} // namespace ballast
