# Reads versions.env, the one file that pins what Ballast is built with.
file(STRINGS "${PROJECT_SOURCE_DIR}/versions.env" lines REGEX "^[A-Z_]+=[^\"]")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([A-Z_]+)=(.*)$" _ "${line}")
  set(BALLAST_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${PROJECT_SOURCE_DIR}/versions.env")
