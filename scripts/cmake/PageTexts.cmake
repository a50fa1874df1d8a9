# A source of the build's own: the texts of HTML reports (sim/trace/report/html), which are files in the repository, as arrays of bytes in the
# program. Included by CMakeLists.txt, and run by the build as a script (-P) with OUTPUT and FOLDER.
set(page_shared format.js parts.js charts.js) # of every page; scripts stand one behind the other, in this order
set(page_trace ${page_shared} data.js timeline.js lanes.js sections.js assumptions.js traces.js page.js)
set(page_results ${page_shared} grid.js plots.js search.js sweep.js compare.js validate.js replay.js results.js)
if(CMAKE_SCRIPT_MODE_FILE)
  # page_bytes(NAME FILES...): appends the definition of NAME, the files one behind the other, to `code`.
  function(page_bytes name)
    set(bytes "")
    foreach(file ${ARGN})
      file(READ ${FOLDER}/${file} hex HEX)
      string(APPEND bytes "${hex}")
    endforeach()
    string(LENGTH "${bytes}" digits)
    math(EXPR length "${digits} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(TOLOWER ${name} array)
    string(APPEND code "\nstatic const unsigned char ${array}[] = {\n${bytes}0x00};\n"
      "const ms_page_text ${name} = {(const char *)${array}, ${length}};\n")
    set(code "${code}" PARENT_SCOPE)
  endfunction()
  set(code "#include \"trace/report/html/page.h\"\n")
  page_bytes(MS_PAGE_TEMPLATE page.html)
  page_bytes(MS_PAGE_STYLE page.css)
  page_bytes(MS_PAGE_TRACE_SCRIPT ${page_trace})
  page_bytes(MS_PAGE_RESULTS_SCRIPT ${page_results})
  file(WRITE ${OUTPUT} "${code}")
  return()
endif()

set(page_folder ${PROJECT_SOURCE_DIR}/sim/trace/report/html)
set(page_files ${page_trace} ${page_results} page.html page.css)
list(REMOVE_DUPLICATES page_files)
list(TRANSFORM page_files PREPEND ${page_folder}/)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/page_texts.c
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${PROJECT_BINARY_DIR}/page_texts.c -DFOLDER=${page_folder} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${page_files} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
target_sources(ms_trace PRIVATE ${PROJECT_BINARY_DIR}/page_texts.c)
