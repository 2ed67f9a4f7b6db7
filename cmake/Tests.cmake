# ballast_test(NAME SOURCES... LIBRARIES... [LABELS...] [TIMEOUT s])
# One GoogleTest program, one ctest entry per test case.
include(GoogleTest)

# Tests compile in batches of a folder: half of the time of a test is what it
# includes. Each of these has helpers with the names of another's.
set(BALLAST_TESTS_ALONE straggler_test lifecycle_test event_text_test
    matrix_product recompute
    chunk_store_test chunk_release_test share_residency_test worker_run_test)
set(BALLAST_TEST_BATCH 6)

function(ballast_batches name)
  if(NOT BALLAST_UNITY)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(last)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    cmake_path(GET source STEM file)
    if(NOT folder STREQUAL last)
      set(last ${folder})
      set(count 0)
    endif()
    if(NOT file IN_LIST BALLAST_TESTS_ALONE)
      math(EXPR batch "${count} / ${BALLAST_TEST_BATCH}")
      math(EXPR count "${count} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP
                                                       "${folder}_${batch}")
    endif()
  endforeach()
endfunction()

function(ballast_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  if(BALLAST_SANITIZE) # several times slower
    math(EXPR T_TIMEOUT "6 * ${T_TIMEOUT}")
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBRARIES} GTest::gmock
                                        GTest::gtest_main)
  ballast_batches(${name} ${T_SOURCES})
  # Whole programs, not single cases: a process start per case would cost more
  # than the cases.
  set(arguments --gtest_brief=1)
  # gRPC inside Flight is not compiled for the thread sanitizer: its shutdown
  # then spins for ever. Every other sanitizer runs these, too.
  if(BALLAST_SANITIZE MATCHES "thread" AND name STREQUAL "data_tests")
    list(APPEND arguments "--gtest_filter=-chunk_service.*")
  elseif(BALLAST_SANITIZE MATCHES "thread" AND name STREQUAL "actors_tests")
    list(APPEND arguments "--gtest_filter=-coordinator*") # which serves the set
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arguments})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS
                                          "${T_LABELS}")
endfunction()
