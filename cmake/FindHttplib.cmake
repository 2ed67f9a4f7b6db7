# Debian's libcpp-httplib-dev is a compiled library with one header.
find_path(HTTPLIB_INCLUDE_DIR httplib.h)
find_library(HTTPLIB_LIBRARY cpp-httplib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Httplib REQUIRED_VARS HTTPLIB_LIBRARY
                                                        HTTPLIB_INCLUDE_DIR)
if(Httplib_FOUND AND NOT TARGET Httplib::httplib)
  add_library(Httplib::httplib INTERFACE IMPORTED)
  target_include_directories(Httplib::httplib SYSTEM
                             INTERFACE "${HTTPLIB_INCLUDE_DIR}")
  # As Debian compiled the library; without these the classes of the header
  # have another layout than those inside it.
  target_compile_definitions(
    Httplib::httplib
    INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT
              CPPHTTPLIB_BROTLI_SUPPORT)
  target_link_libraries(Httplib::httplib INTERFACE "${HTTPLIB_LIBRARY}" ssl
                                                   crypto Threads::Threads)
endif()
