# Debian's libcaf-dev ships headers and libraries but no CMake config.
# Defines CAF::core, CAF::io. Refuses versions with another API.
find_path(CAF_INCLUDE_DIR caf/all.hpp)
find_library(CAF_CORE_LIBRARY caf_core)
find_library(CAF_IO_LIBRARY caf_io)
if(CAF_INCLUDE_DIR)
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" line
       REGEX "^#define CAF_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" number "${line}")
  math(EXPR major "${number} / 10000")
  math(EXPR minor "(${number} / 100) % 100")
  math(EXPR patch "${number} % 100")
  set(CAF_VERSION "${major}.${minor}.${patch}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CAF
  REQUIRED_VARS CAF_CORE_LIBRARY CAF_IO_LIBRARY CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION)
if(CAF_FOUND AND NOT CAF_VERSION VERSION_EQUAL BALLAST_CAF_VERSION)
  message(FATAL_ERROR "CAF ${BALLAST_CAF_VERSION} is needed, found "
                      "${CAF_VERSION} in ${CAF_INCLUDE_DIR}")
endif()
if(CAF_FOUND AND NOT TARGET CAF::core)
  add_library(CAF::core INTERFACE IMPORTED)
  target_include_directories(CAF::core SYSTEM INTERFACE "${CAF_INCLUDE_DIR}")
  target_link_libraries(CAF::core INTERFACE "${CAF_CORE_LIBRARY}"
                                            Threads::Threads)
  add_library(CAF::io INTERFACE IMPORTED)
  target_link_libraries(CAF::io INTERFACE "${CAF_IO_LIBRARY}" CAF::core)
endif()
