# A source of the build's own: a digest of all sources that simulated figures follow from, up to the layer `run`. Stores of results
# (sim/study/store/store.md) find a row again only by a program that has the same one. Included by CMakeLists.txt, and run
# by the build as a script (-P) with OUTPUT, ROOT and LAYERS.
if(CMAKE_SCRIPT_MODE_FILE)
  set(digests "")
  foreach(layer ${LAYERS})
    file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/sim/${layer}/*.c ${ROOT}/sim/${layer}/*.cpp ${ROOT}/sim/${layer}/*.h)
    list(SORT files)
    foreach(name ${files})
      file(SHA256 ${ROOT}/${name} digest)
      string(APPEND digests "${digest} ${name}\n")
    endforeach()
  endforeach()
  file(GLOB files RELATIVE ${ROOT} ${ROOT}/include/meshsim/*.h)
  list(SORT files)
  foreach(name ${files})
    file(SHA256 ${ROOT}/${name} digest)
    string(APPEND digests "${digest} ${name}\n")
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING ${digest} 0 16 digest)
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#include \"cli/store_options.h\"\n\nconst char MS_CLI_RESULT_DIGEST[] = \"${digest}\";\n")
  return()
endif()

set(result_layers base config platform mesh placement model schedule collective spec estimate dag lower engine metrics run)
set(result_sources "")
foreach(layer ${result_layers})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/${layer}/*.c ${PROJECT_SOURCE_DIR}/sim/${layer}/*.cpp
       ${PROJECT_SOURCE_DIR}/sim/${layer}/*.h)
  list(APPEND result_sources ${sources})
endforeach()
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/meshsim/*.h)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/result_digest.c
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${PROJECT_BINARY_DIR}/result_digest.c -DROOT=${PROJECT_SOURCE_DIR} "-DLAYERS=${result_layers}"
          -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${result_sources} ${sources} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
