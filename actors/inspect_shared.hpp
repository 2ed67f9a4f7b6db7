/// How the large parts of messages travel: what all orders of a generation
/// share, and what those consist of. For protocol.hpp only.
#pragma once

#include "runtime/messages/messages.hpp"
#include "runtime/messages/packed_orders.hpp"

#include <caf/all.hpp>

#include <string>

namespace ballast {

/// Packed once, however many orders carry it.
template <class Inspector, class T>
typename Inspector::result_type inspect(Inspector& f, shared_value<T>& x) {
  if constexpr (Inspector::reads_state) {
    std::string fresh;
    if (x.bytes().empty())
      fresh = pack(*x);
    const std::string& bytes = x.bytes().empty() ? fresh : x.bytes();
    return f(const_cast<std::string&>(bytes));
  } else {
    std::string bytes;
    auto load = [&]() -> caf::error {
      T what;
      if (!unpack(bytes, what))
        return caf::sec::invalid_argument;
      x = std::move(what);
      return caf::none;
    };
    return f(bytes, caf::meta::load_callback(load));
  }
}

/// As the vector that it stands for.
template <class Inspector, class T>
typename Inspector::result_type inspect(Inspector& f, shared_list<T>& x) {
  std::vector<T> list;
  if constexpr (Inspector::reads_state) {
    list = x.list();
    return f(list);
  } else {
    auto load = [&]() -> caf::error {
      x = std::move(list);
      return caf::none;
    };
    return f(list, caf::meta::load_callback(load));
  }
}

} // namespace ballast

namespace ballast::ledger {

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, leaf_range& x) {
  return f(caf::meta::type_name("leaf_range"), x.begin, x.end);
}

} // namespace ballast::ledger
