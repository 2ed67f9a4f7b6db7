# ballast_test(NAME SOURCES... LIBRARIES... [LABELS...] [TIMEOUT s])
# One GoogleTest program, one ctest entry per test case.
include(GoogleTest)
function(ballast_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBRARIES} GTest::gmock
                                        GTest::gtest_main)
  # Whole programs, not single cases: a process start per case would cost more
  # than the cases.
  set(arguments --gtest_brief=1)
  # gRPC inside Flight is not compiled for the thread sanitizer: its shutdown
  # then spins for ever. Every other sanitizer runs these, too.
  if(BALLAST_SANITIZE MATCHES "thread" AND name STREQUAL "data_tests")
    list(APPEND arguments "--gtest_filter=-chunk_service.*")
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arguments})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS
                                          "${T_LABELS}")
endfunction()
