# What reads image files: libjpeg-turbo's own interface, libspng, and libarchive
# for the archives that they come in. Debian's packages have no CMake files.
find_path(TURBOJPEG_INCLUDE_DIR turbojpeg.h)
find_library(TURBOJPEG_LIBRARY turbojpeg)
find_path(SPNG_INCLUDE_DIR spng.h)
find_library(SPNG_LIBRARY spng)
find_path(ARCHIVE_INCLUDE_DIR archive.h)
find_library(ARCHIVE_LIBRARY archive)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  ImageLibraries
  REQUIRED_VARS TURBOJPEG_LIBRARY TURBOJPEG_INCLUDE_DIR SPNG_LIBRARY
                SPNG_INCLUDE_DIR ARCHIVE_LIBRARY ARCHIVE_INCLUDE_DIR)
if(ImageLibraries_FOUND AND NOT TARGET Images::images)
  add_library(Images::images INTERFACE IMPORTED)
  target_include_directories(
    Images::images SYSTEM INTERFACE "${TURBOJPEG_INCLUDE_DIR}"
                                    "${SPNG_INCLUDE_DIR}" "${ARCHIVE_INCLUDE_DIR}")
  target_link_libraries(Images::images INTERFACE "${TURBOJPEG_LIBRARY}"
                                                 "${SPNG_LIBRARY}" "${ARCHIVE_LIBRARY}")
endif()
