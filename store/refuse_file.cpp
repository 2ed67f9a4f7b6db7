#include "store/refuse_file.hpp"

#include "runtime/base/errors.hpp"

#include <cerrno>
#include <string>
#include <system_error>

namespace ballast::store {

bool means_disk_full(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT ||
         error_number == EFBIG;
}

void refuse_file(const std::filesystem::path& path, std::string_view action,
                 int error_number, std::string_view otherwise) {
  std::string what = "cannot " + std::string(action) + " " + path.string() +
                     ": " + std::generic_category().message(error_number);
  if (error_number == ENAMETOOLONG)
    what += " (a name may have 255 bytes, a path 4095)";
  if (means_disk_full(error_number))
    throw ballast_error(errc::disk_full, what + "; make space");
  if (error_number == EMFILE || error_number == ENFILE)
    what += "; raise the limit with `ulimit -n`";
  else if (!otherwise.empty())
    what += "; " + std::string(otherwise);
  throw ballast_error(errc::run_dir_unusable, what);
}

} // namespace ballast::store
