#include "data/arrow_support.hpp"

#include <arrow/util/io_util.h>
#include <cerrno>

namespace ballast {

void check_arrow(const arrow::Status& status, errc code,
                 const std::string& context) {
  if (status.ok())
    return;
  const int number = arrow::internal::ErrnoFromStatus(status);
  if (number == ENOSPC || number == EDQUOT || number == EFBIG)
    throw ballast_error(errc::disk_full,
                        context + ": the disk is full (" + status.message() +
                            "); make room or point $BALLAST_CACHE elsewhere");
  throw ballast_error(code, context + ": " + status.message());
}

} // namespace ballast
