# A source of the build's own: a digest of all sources that simulated figures follow from, up to the room `simulate`. Stores of results
# (sim/search/store/store.md) find a row again only by a program that has the same one. Included by CMakeLists.txt, and run
# by the build as a script (-P) with OUTPUT, ROOT and ROOMS.
if(CMAKE_SCRIPT_MODE_FILE)
  set(digests "")
  foreach(room ${ROOMS})
    file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/sim/${room}/*.c ${ROOT}/sim/${room}/*.cpp ${ROOT}/sim/${room}/*.h)
    list(SORT files)
    foreach(name ${files})
      file(SHA256 ${ROOT}/${name} digest)
      string(APPEND digests "${digest} ${name}\n")
    endforeach()
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING ${digest} 0 16 digest)
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#include \"cli/study_options.h\"\n\nconst char MS_CLI_RESULT_DIGEST[] = \"${digest}\";\n")
  return()
endif()

set(result_rooms base cluster model collective schedule job estimate simulate)
set(result_sources "")
foreach(room ${result_rooms})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/${room}/*.c ${PROJECT_SOURCE_DIR}/sim/${room}/*.cpp
       ${PROJECT_SOURCE_DIR}/sim/${room}/*.h)
  list(APPEND result_sources ${sources})
endforeach()
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/result_digest.c
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${PROJECT_BINARY_DIR}/result_digest.c -DROOT=${PROJECT_SOURCE_DIR} "-DROOMS=${result_rooms}"
          -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${result_sources} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
