/// Libraries of a user's operators (include/ballast/operator.h), and the hash
/// by which a prepared set knows the one that it was made with.
///
/// What is loaded are the bytes that were hashed, not the file: it may be
/// built again, or removed, while a process has it. A library stays loaded as
/// long as the process, once for each content. Any thread. Errors:
/// ballast_error{invalid_data} with the field of the job, the file, and what
/// to do.
#pragma once

#include <arrow/c/abi.h> // before that header, which has its structs, too

#include "include/ballast/operator.h"

#include <filesystem>
#include <string>

namespace ballast::data {

class user_library {
public:
  /// `pointer`: of the node.
  static const user_library& load(const std::string& path,
                                  const std::string& pointer);

  /// The operator of this name; refuses one that is not there.
  const ballast_operator& find(const std::string& name, const std::string& path,
                               const std::string& pointer) const;

private:
  explicit user_library(const ballast_operator_library& what) : what_(&what) {}
  const ballast_operator_library* what_;
};

/// "sha256 ..." of the file's bytes.
std::string hash_of_library(const std::string& path,
                            const std::string& pointer);

} // namespace ballast::data
