# room(<folder> [DEPENDS <room>...] [LIBS <library>...] [TEST_LIBS <library>...])
#
# One folder of src/ is one static library `room_<name>`; its *_test.cc become one test program
# `<name>_test`, each *_bench.cc a benchmark program and each *_fuzz.cc a fuzz target. DEPENDS may name only
# rooms of the rows above in src/ROOMS.md (tests/rooms_test checks the includes themselves).
find_package(rapidcheck REQUIRED)
add_library(pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_precompile_headers(pch PRIVATE <algorithm> <chrono> <cstdint> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <nlohmann/json.hpp>)
target_include_directories(pch PRIVATE ${CMAKE_SOURCE_DIR}/src)

# Under sanitizers most of the build would be the optimization of test code, which need not be fast: the tests are
# compiled without, the rooms with.
set(test_pch pch)
if(LOCKSTEP_SANITIZE)
  set(test_pch pch_tests)
  add_library(pch_tests STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
  target_compile_options(pch_tests PRIVATE -O0)
  target_precompile_headers(pch_tests PRIVATE $<TARGET_PROPERTY:pch,PRECOMPILE_HEADERS> <gmock/gmock.h> <gtest/gtest.h>)
  target_include_directories(pch_tests PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(pch_tests PRIVATE GTest::gmock)
endif()

configure_file(${CMAKE_SOURCE_DIR}/cmake/source_dir.cc.in ${CMAKE_BINARY_DIR}/source_dir.cc @ONLY)
add_library(source_dir STATIC ${CMAKE_BINARY_DIR}/source_dir.cc)
target_include_directories(source_dir PRIVATE ${CMAKE_SOURCE_DIR}/src)

function(room folder)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;LIBS;TEST_LIBS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  set(dir ${CMAKE_SOURCE_DIR}/src/${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc ${dir}/*/*.cc)
  # A nested room (kube/model below kube) has its own call; kube itself is not a room.
  set(tests ${sources})
  set(benches ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "(_(test|bench|fuzz)|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  if(NOT sources)
    return()
  endif()

  add_library(room_${name} STATIC ${sources})
  target_include_directories(room_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_precompile_headers(room_${name} REUSE_FROM pch)
  foreach(other ${ROOM_DEPENDS})
    string(REPLACE "/" "_" other ${other})
    if(TARGET room_${other})
      target_link_libraries(room_${name} PUBLIC room_${other})
    endif()
  endforeach()
  target_link_libraries(room_${name} PUBLIC ${ROOM_LIBS})

  if(tests)
    add_executable(${name}_test ${tests})
    target_precompile_headers(${name}_test REUSE_FROM ${test_pch})
    if(LOCKSTEP_SANITIZE)
      target_compile_options(${name}_test PRIVATE -O0)
    endif()
    target_link_libraries(${name}_test PRIVATE room_${name} source_dir GTest::gmock GTest::gtest_main
                          rapidcheck rapidcheck_gtest ${ROOM_TEST_LIBS})
    add_test(NAME ${name}_test COMMAND ${name}_test)
    # One seed for every run of ctest, so that a failure of CI is a failure everywhere; a program that is run by
    # hand draws a new one and prints it.
    set_tests_properties(${name}_test PROPERTIES LABELS unit ENVIRONMENT "RC_PARAMS=seed=20260301")
  endif()
  foreach(file ${benches})
    get_filename_component(bench ${file} NAME_WE)
    add_executable(${name}_${bench} ${file})
    target_precompile_headers(${name}_${bench} REUSE_FROM pch)
    target_link_libraries(${name}_${bench} PRIVATE room_${name} benchmark::benchmark_main ${ROOM_TEST_LIBS})
  endforeach()
  foreach(file ${fuzzers})
    fuzz_target(${name} ${file})
  endforeach()
endfunction()

# A fuzz target is `<name>_<file>`. With LOCKSTEP_FUZZ it searches for new inputs (libFuzzer, clang); without,
# it replays the inputs of tests/fuzz/corpus/<file without _fuzz>/ as a test.
function(fuzz_target name file)
  get_filename_component(fuzz ${file} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" corpus ${fuzz})
  set(target ${name}_${fuzz})
  add_executable(${target} ${file})
  target_precompile_headers(${target} REUSE_FROM pch)
  target_link_libraries(${target} PRIVATE room_${name})
  if(LOCKSTEP_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    add_test(NAME ${target} COMMAND ${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${corpus})
    set_tests_properties(${target} PROPERTIES LABELS unit)
  endif()
endfunction()
