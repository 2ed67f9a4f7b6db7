#include "store/term_lock.hpp"

#include "runtime/base/errors.hpp"
#include "store/refuse_file.hpp"

namespace ballast::store {

file_lock take_term_lock(const std::filesystem::path& file) {
  file_lock lock(file);
  const bool taken = lock && lock.take(file_lock::mode::exclusive);
  if (lock.error() != 0)
    refuse_file(file, "open", lock.error());
  if (!taken)
    throw ballast_error(errc::run_dir_in_use,
                        "another coordinator, " + lock.holder() +
                            ", writes the journal in " +
                            file.parent_path().string() + "; stop it first");
  // For that message alone; a full disk does not matter here.
  (void)lock.write_holder();
  return lock;
}

} // namespace ballast::store
