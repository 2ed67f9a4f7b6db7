# The header of ADBC out of the adbc-driver-manager wheel that `dev setup`
# unpacked; defines Adbc::header. The drivers beside it are not linked: the
# program opens one when a job reads such a database.
set(ADBC_ROOT "${BALLAST_DEPS}/adbc-${BALLAST_ADBC_VERSION}")
include(FindPackageHandleStandardArgs)
find_path(ADBC_INCLUDE_DIR arrow-adbc/adbc.h
          PATHS "${ADBC_ROOT}/adbc_driver_manager" NO_DEFAULT_PATH)
find_package_handle_standard_args(
  AdbcWheel
  REASON_FAILURE_MESSAGE "run ./dev setup"
  REQUIRED_VARS ADBC_INCLUDE_DIR)
if(NOT TARGET Adbc::header)
  add_library(Adbc::header INTERFACE IMPORTED)
  set_target_properties(
    Adbc::header
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ADBC_INCLUDE_DIR}"
               INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${ADBC_INCLUDE_DIR}")
endif()
