# Tests: tests/unit/<room>/**/*.c becomes one Criterion program per room, linked to that room and those below it;
# every test in it becomes a ctest entry of its own, listed from the program after it is linked.
pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
# Debian's interpreter: its packages (h5py, xarray) are the ones scripts/setup installs
find_program(MESHSIM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
set(MESHSIM_FAULTS "Sanitizer|runtime error:|Tested: 0 ")

# ms_add_test_program(NAME SOURCES... LIBS...): a Criterion program whose tests are discovered at build time.
# Tests are compiled with little optimisation, and under sanitizers with none and for the address sanitizer alone: the
# library that they call is checked by all of them, and compiling the tests took half of a build.
if(MESHSIM_FUZZ)
  set(MESHSIM_TEST_OPTIONS -O0 -fno-sanitize=undefined,fuzzer-no-link)
else()
  set(MESHSIM_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)
endif()
function(ms_add_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ms_flags ${ARG_LIBS} PkgConfig::CRITERION)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_options(${name} PRIVATE ${MESHSIM_TEST_OPTIONS})
  target_compile_definitions(${name} PRIVATE MS_SOURCE_DIR="${PROJECT_SOURCE_DIR}" MS_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set(list_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DNAME=${name} -DOUTPUT=${list_file}
            -DFAULTS=${MESHSIM_FAULTS} -P ${PROJECT_SOURCE_DIR}/scripts/cmake/DiscoverTests.cmake
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

# ms_add_check(NAME COMMAND...): a ctest entry for a program that is not Criterion's. These take longest, and ctest begins
# with what costs most, so that no core waits for a long one at the end.
function(ms_add_check name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES COST 10 TIMEOUT 300 FAIL_REGULAR_EXPRESSION "${MESHSIM_FAULTS}")
endfunction()

# Graphs run in processes of their own, by the program's engine and by its oracle, which knows SimGrid alone
add_library(engine_cases STATIC ${PROJECT_SOURCE_DIR}/tests/support/engine/cases.c
            ${PROJECT_SOURCE_DIR}/tests/support/engine/simgrid_all.c ${PROJECT_SOURCE_DIR}/tests/support/engine/activities.cpp)
target_include_directories(engine_cases PUBLIC ${PROJECT_SOURCE_DIR}/tests/support/engine PRIVATE ${PROJECT_SOURCE_DIR}/sim)
target_link_libraries(engine_cases PUBLIC ms_simulate PRIVATE PkgConfig::SIMGRID PkgConfig::CRITERION)

foreach(room ${MESHSIM_ROOMS})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${room}/*.c)
  if(sources)
    ms_add_test_program(test_${room} SOURCES ${sources} LIBS ms_${room})
  endif()
endforeach()

target_link_libraries(test_simulate PRIVATE engine_cases)

# its tests damage files on purpose, through the library
if(TARGET test_trace)
  target_link_libraries(test_trace PRIVATE hdf5::hdf5)
endif()

# tests/unit/simulate/run/test_work.c counts calls from one file to another
if(TARGET test_simulate)
  foreach(function ms_platform_route ms_coll_plan_build ms_crossings_plan ms_arena_alloc)
    target_link_options(test_simulate PRIVATE -Wl,--wrap=${function})
  endforeach()
endif()

# tests/unit/cli runs the program itself
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/cli/*.c)
if(sources AND TARGET meshsim)
  ms_add_test_program(test_cli SOURCES ${sources} LIBS ms_cli PkgConfig::SIMGRID)
  add_dependencies(test_cli meshsim)
endif()

# tests/golden/<case>/case
file(GLOB cases CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/golden/*/case)
if(TARGET meshsim)
  foreach(case ${cases})
    cmake_path(GET case PARENT_PATH folder)
    cmake_path(GET folder FILENAME name)
    ms_add_check(golden.${name} ${MESHSIM_PYTHON} ${PROJECT_SOURCE_DIR}/tests/golden/golden.py
                 $<TARGET_FILE:meshsim> ${name})
  endforeach()
endif()

# ms_add_python_test(SCRIPT): a program that takes the path of meshsim. One that says `# ctest: N parts` becomes
# N entries, because a single long one keeps a core busy when all others have ended (tests/python/parts.py).
function(ms_add_python_test script)
  get_filename_component(name ${script} NAME_WE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(STRINGS ${script} line REGEX "^# ctest: [0-9]+ parts$")
  if(NOT line)
    ms_add_check(python.${name} ${MESHSIM_PYTHON} ${script} $<TARGET_FILE:meshsim>)
    return()
  endif()
  string(REGEX MATCH "[0-9]+" parts "${line}")
  foreach(part RANGE 1 ${parts})
    ms_add_check(python.${name}.${part} ${MESHSIM_PYTHON} ${script} $<TARGET_FILE:meshsim>)
    set_tests_properties(python.${name}.${part} PROPERTIES ENVIRONMENT MS_PART=${part}/${parts})
  endforeach()
endfunction()

# tests/python/test_*.py
file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/python/test_*.py)
if(TARGET meshsim)
  foreach(script ${scripts})
    ms_add_python_test(${script})
  endforeach()
endif()

# ms_add_fuzz_program(NAME SOURCE): a fuzz target without its driver
function(ms_add_fuzz_program name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ms_flags meshsim_library PkgConfig::SIMGRID PkgConfig::YAML hdf5::hdf5 ZLIB::ZLIB)
  if(name MATCHES "^fuzz_cli")
    target_link_libraries(${name} PRIVATE ms_cli)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_definitions(${name} PRIVATE MS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

# tests/fuzz/fuzz_*.c: with MESHSIM_FUZZ libFuzzer drives them (scripts/fuzz), and those with a planted trap are built with
# it as well; without, the kept inputs are replayed
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  ms_add_fuzz_program(${name} ${source})
  if(MESHSIM_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    file(STRINGS ${source} trap REGEX MS_FUZZ_TRAP)
    if(trap)
      ms_add_fuzz_program(${name}_trap ${source})
      target_compile_definitions(${name}_trap PRIVATE MS_FUZZ_TRAP)
      target_link_options(${name}_trap PRIVATE -fsanitize=fuzzer)
    endif()
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/replay.c)
    file(GLOB kept ${PROJECT_SOURCE_DIR}/tests/fuzz/slow/${name})
    ms_add_check(replay.${name} ${name} ${PROJECT_SOURCE_DIR}/workloads ${PROJECT_SOURCE_DIR}/platforms
                 ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name} ${kept})
  endif()
endforeach()

# The installed library and program, and what the READMEs say: once, in the build that people use
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  ms_add_check(install.hardening ${MESHSIM_PYTHON} ${PROJECT_SOURCE_DIR}/tests/install/hardening.py
               --below ${PROJECT_BINARY_DIR} $<TARGET_FILE:meshsim> $<TARGET_FILE:ms_simgrid> $<TARGET_FILE:meshsim_shared>)
  ms_add_check(guards.structure ${MESHSIM_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/check_structure --build ${PROJECT_BINARY_DIR})
  ms_add_check(install.symbols ${MESHSIM_PYTHON} ${PROJECT_SOURCE_DIR}/tests/install/symbols.py $<TARGET_FILE:meshsim_shared>)
  ms_add_check(install.python ${MESHSIM_PYTHON} ${PROJECT_SOURCE_DIR}/tests/install/python.py $<TARGET_FILE:meshsim> ${PROJECT_BINARY_DIR})
  ms_add_check(install.consumer ${PROJECT_SOURCE_DIR}/tests/install/check ${PROJECT_BINARY_DIR})
  if(TARGET meshsim)
    # tests/preload: sanitizers bring an allocator of their own
    add_library(failing MODULE ${PROJECT_SOURCE_DIR}/tests/preload/failing.c)
    target_compile_definitions(failing PRIVATE _GNU_SOURCE)
    target_compile_options(failing PRIVATE -Wall -Wextra -Werror)
    target_link_libraries(failing PRIVATE ${CMAKE_DL_LIBS})
    ms_add_check(preload.failing ${MESHSIM_PYTHON} ${PROJECT_SOURCE_DIR}/tests/preload/test_failing.py
                 $<TARGET_FILE:meshsim> $<TARGET_FILE:failing>)
    file(GLOB readmes RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md
         ${PROJECT_SOURCE_DIR}/platforms/README.md ${PROJECT_SOURCE_DIR}/workloads/README.md
         ${PROJECT_SOURCE_DIR}/workloads/schedules.md ${PROJECT_SOURCE_DIR}/workloads/validation/README.md
         ${PROJECT_SOURCE_DIR}/workloads/search.md ${PROJECT_SOURCE_DIR}/workloads/import.md ${PROJECT_SOURCE_DIR}/workloads/export.md ${PROJECT_SOURCE_DIR}/workloads/studies/README.md
         ${PROJECT_SOURCE_DIR}/workloads/guides/commands.md ${PROJECT_SOURCE_DIR}/workloads/guides/planner.md
         ${PROJECT_SOURCE_DIR}/workloads/guides/researcher.md ${PROJECT_SOURCE_DIR}/workloads/guides/regression.md ${PROJECT_SOURCE_DIR}/sim/trace/README.md)
    foreach(readme ${readmes})
      ms_add_check(readme.${readme} ${MESHSIM_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/check_readme
                   $<TARGET_FILE:meshsim> ${readme})
      set_tests_properties(readme.${readme} PROPERTIES COST 100)
    endforeach()
  endif()
endif()
