# leanstream_library(NAME DEPENDS target…): a static library of every .cpp in the current folder.
# One folder is one library; a new file needs no edit here.
function(leanstream_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC leanstream_options ${ARG_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE leanstream_options ${ARG_DEPENDS})
  endif()
endfunction()

# leanstream_test(NAME DEPENDS target… [SLOW filter]): one GoogleTest program of every .cpp in the
# folder. Tests that match the filter get the label `slow` and are left out under the sanitizers.
function(leanstream_test name)
  cmake_parse_arguments(ARG "" "SLOW" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    LEANSTREAM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    LEANSTREAM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(LEANSTREAM_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)  # tests are compiled more than they run
  endif()
  if(ARG_SLOW)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_FILTER "${ARG_SLOW}"
                         TEST_LIST ${name}_slow PROPERTIES TIMEOUT 300 LABELS slow)
    set(rest TEST_FILTER "-${ARG_SLOW}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST ${rest} PROPERTIES TIMEOUT 300)
endfunction()

# leanstream_fuzz_target(NAME DEPENDS target… SOURCES file…): the fuzz target of NAME.cpp.
function(leanstream_fuzz_target name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  add_executable(${name} ${name}.cpp exit_is_crash.cpp ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
