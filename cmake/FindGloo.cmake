# Debian's libgloo-dev ships a static library and no CMake config.
find_path(GLOO_INCLUDE_DIR gloo/allreduce.h)
find_library(GLOO_LIBRARY gloo)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Gloo REQUIRED_VARS GLOO_LIBRARY
                                                     GLOO_INCLUDE_DIR)
if(Gloo_FOUND AND NOT TARGET Gloo::gloo)
  add_library(Gloo::gloo INTERFACE IMPORTED)
  target_include_directories(Gloo::gloo SYSTEM INTERFACE "${GLOO_INCLUDE_DIR}")
  target_link_libraries(Gloo::gloo INTERFACE "${GLOO_LIBRARY}" Threads::Threads)
endif()
