/// Options that several methods of resampling have: a part of
/// resampling_methods.cpp. Pure functions.
#pragma once

#include "runtime/graph/resampling_methods.hpp"

#include <string>
#include <vector>

namespace ballast::graph {

template <class Enum>
std::vector<std::string> words_for() {
  return {words_of<Enum>.begin(), words_of<Enum>.end()};
}

option strategy(resampling_kind kind);
option neighbours(const char* name, uint64_t usual, const char* doc);
option k_of_smote();
option policy();
option draws();
option m_of_danger();
option rounds_of_k_means();

/// The methods that add rows between others, and those for a number to be
/// predicted; in the order of resampling.
void add_over(std::vector<resampling_about>& all);
void add_ranges(std::vector<resampling_about>& all);

} // namespace ballast::graph
