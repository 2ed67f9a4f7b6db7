/// How the large parts of messages travel: what all orders of a generation
/// share, and what those consist of. For protocol.hpp only.
#pragma once

#include "runtime/messages/messages.hpp"
#include "runtime/messages/packed_orders.hpp"

#include <caf/all.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace ballast {

// -- structs that list their fields ------------------------------------------

/// A number travels as its bits: CAF 0.17 makes -1 of NaN, and of infinity a
/// loop without an end.
inline uint64_t travelling(double& x) {
  return std::bit_cast<uint64_t>(x);
}
inline std::vector<uint64_t> travelling(std::vector<double>& x) {
  std::vector<uint64_t> out;
  for (double& one : x)
    out.push_back(travelling(one));
  return out;
}
template <class T>
T& travelling(T& x) {
  return x;
}
inline void arrived(double& x, uint64_t bits) {
  x = std::bit_cast<double>(bits);
}
inline void arrived(std::vector<double>& x, const std::vector<uint64_t>& bits) {
  x.resize(bits.size());
  for (size_t i = 0; i < bits.size(); ++i)
    arrived(x[i], bits[i]);
}
template <class T>
void arrived(T& /*x*/, T& /*itself*/) {}

template <class Inspector, class T>
typename Inspector::result_type inspect_fields(Inspector& f, T& x) {
  return std::apply(
      [&f](auto&... field) {
        std::tuple<decltype(travelling(field))...> held{travelling(field)...};
        return std::apply(
            [&](auto&... each) -> typename Inspector::result_type {
              if constexpr (Inspector::reads_state) {
                return f(each...);
              } else {
                auto load = [&]() -> caf::error {
                  (arrived(field, each), ...);
                  return caf::none;
                };
                return f(each..., caf::meta::load_callback(load));
              }
            },
            held);
      },
      x.fields());
}

// -- what orders share
// --------------------------------------------------------

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

namespace ballast::metrics {

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, metric_value& x) {
  return inspect_fields(f, x);
}

} // namespace ballast::metrics
