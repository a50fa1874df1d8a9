# Writes OUTPUT: one add_test per Criterion test of PROGRAM. A program without tests is an error.
# Expects PROGRAM, NAME, OUTPUT and FAULTS (what no test may print).
set(ENV{LC_ALL} C)
execute_process(COMMAND ${PROGRAM} --list OUTPUT_VARIABLE listing RESULT_VARIABLE result ERROR_VARIABLE said)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${NAME}: '--list' ended with ${result}\n${said}")
endif()
string(REPLACE "\n" ";" lines "${listing}")
set(suite "")
set(text "")
set(count 0)
foreach(line IN LISTS lines)
  if(line MATCHES "^([A-Za-z0-9_]+): [0-9]+ tests?")
    set(suite ${CMAKE_MATCH_1})
  elseif(line MATCHES "^[|`]-- ([A-Za-z0-9_]+)")
    set(test ${CMAKE_MATCH_1})
    math(EXPR count "${count} + 1")
    string(APPEND text
      "add_test([==[${suite}.${test}]==] [==[${PROGRAM}]==] -j1 --filter ${suite}/${test})\n"
      "set_tests_properties([==[${suite}.${test}]==] PROPERTIES TIMEOUT 120 "
      "FAIL_REGULAR_EXPRESSION [==[${FAULTS}]==])\n")
  endif()
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "${NAME}: no tests found (Criterion needs /proc)")
endif()
file(WRITE ${OUTPUT} "${text}")
