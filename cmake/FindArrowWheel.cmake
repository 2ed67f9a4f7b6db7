# Arrow, Parquet and Flight out of the pyarrow wheel that `dev setup` unpacked.
# Defines Arrow::arrow, Arrow::parquet, Arrow::flight. Links the exact names
# (libarrow.so.2600), because the wheel has no development links.
set(ARROW_ROOT "${BALLAST_DEPS}/pyarrow-${BALLAST_PYARROW_VERSION}/pyarrow")
include(FindPackageHandleStandardArgs)
find_file(ARROW_LIBRARY libarrow.so.${BALLAST_ARROW_SONAME}
          PATHS "${ARROW_ROOT}" NO_DEFAULT_PATH)
find_path(ARROW_INCLUDE_DIR arrow/api.h PATHS "${ARROW_ROOT}/include"
          NO_DEFAULT_PATH)
find_package_handle_standard_args(
  ArrowWheel
  REASON_FAILURE_MESSAGE "run ./dev setup"
  REQUIRED_VARS ARROW_LIBRARY ARROW_INCLUDE_DIR)
foreach(part arrow arrow_compute parquet arrow_flight)
  string(REPLACE "arrow_" "" short ${part})
  if(NOT TARGET Arrow::${short})
    add_library(Arrow::${short} SHARED IMPORTED)
    set_target_properties(
      Arrow::${short}
      PROPERTIES IMPORTED_LOCATION
                 "${ARROW_ROOT}/lib${part}.so.${BALLAST_ARROW_SONAME}"
                 INTERFACE_INCLUDE_DIRECTORIES "${ARROW_INCLUDE_DIR}"
                 INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${ARROW_INCLUDE_DIR}")
  endif()
endforeach()
set_property(TARGET Arrow::flight Arrow::parquet Arrow::compute
             PROPERTY INTERFACE_LINK_LIBRARIES Arrow::arrow)
