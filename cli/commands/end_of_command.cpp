#include "cli/commands/end_of_command.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <exception>
#include <iostream>

namespace ballast::cli {

namespace {

int ended(const std::function<int()>& work, const std::string& name,
          const ending_signals* signals, const std::string& left) {
  try {
    return work();
  } catch (const ballast_error& error) {
    if (signals != nullptr && signals->number() != 0) {
      std::cerr << name << ": ended by signal " << signals->number() << "; "
                << left << std::endl;
      return 128 + signals->number();
    }
    std::cerr << name << ": " << error.what() << std::endl;
    return describe(error.what_failed().code).exit_code;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << printable(error.what()) << std::endl;
    return 1;
  }
}

} // namespace

int end_of_command(const std::function<int()>& work, const std::string& name) {
  return ended(work, name, nullptr, "");
}

int end_of_command(const std::function<int()>& work,
                   const ending_signals& signals, const std::string& left) {
  return ended(work, "ballast", &signals, left);
}

} // namespace ballast::cli
