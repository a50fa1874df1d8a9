# Tests: tests/unit/<layer>/*.c becomes one Criterion program per layer, linked to that layer and those below it;
# every test in it becomes a ctest entry of its own, listed from the program after it is linked.
pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)

# ms_add_test_program(NAME SOURCES... LIBS...): a Criterion program whose tests are discovered at build time.
function(ms_add_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ms_flags ${ARG_LIBS} PkgConfig::CRITERION)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/sim ${PROJECT_SOURCE_DIR}/tests/support)
  # Criterion's macros shadow names and declare functions without prototypes; the rules hold for our own code
  target_compile_options(${name} PRIVATE -Wno-missing-prototypes -Wno-strict-prototypes -Wno-conversion -Wno-cast-qual)
  target_compile_definitions(${name} PRIVATE MS_SOURCE_DIR="${PROJECT_SOURCE_DIR}" MS_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set(list_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DNAME=${name} -DOUTPUT=${list_file}
            -P ${PROJECT_SOURCE_DIR}/cmake/DiscoverTests.cmake
    VERBATIM)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake
"if(EXISTS \"${list_file}\")
  include(\"${list_file}\")
else()
  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake)
endfunction()

foreach(layer ${MESHSIM_LAYERS})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${layer}/*.c)
  if(sources)
    ms_add_test_program(test_${layer} SOURCES ${sources} LIBS ms_${layer})
  endif()
endforeach()

# tests/unit/cli runs the program itself
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/cli/*.c)
if(sources AND TARGET meshsim)
  ms_add_test_program(test_cli SOURCES ${sources} LIBS ms_base)
  add_dependencies(test_cli meshsim)
endif()
