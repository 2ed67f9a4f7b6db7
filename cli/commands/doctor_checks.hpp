/// The checks of `ballast doctor`. Each one tries the real operation: it opens
/// the library, binds the port, asks the driver. None changes anything, none
/// throws.
#pragma once

#include <string>
#include <vector>

namespace ballast::cli {

enum class finding : uint8_t {
  fine,
  note,    // works, but worth knowing
  missing, // a part of Ballast cannot be used
};

struct check {
  std::string group; // machine, devices, libraries, places
  std::string name;
  finding result = finding::fine;
  std::string found;
  std::string what_to_do; // empty if fine
};

void check_machine(std::vector<check>& out);
void check_devices(std::vector<check>& out);
void check_cuda_devices(std::vector<check>& out);
void check_libraries(std::vector<check>& out);
void check_places(std::vector<check>& out);

} // namespace ballast::cli
