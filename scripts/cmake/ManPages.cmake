# cmake -DPROGRAM=build/meshsim -DFOLDER=build/man1 -P ManPages.cmake: the manual pages of the program and of each of its
# commands, which the program lists as what may stand behind its name.
execute_process(COMMAND ${PROGRAM} help --complete "" OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[a-z]+\t" names "${lines}")
string(REGEX REPLACE "[\n\t]" "" names "${names}")
list(REMOVE_ITEM names help)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} help --man OUTPUT_FILE ${FOLDER}/meshsim.1 COMMAND_ERROR_IS_FATAL ANY)
foreach(name ${names})
  execute_process(COMMAND ${PROGRAM} help --man ${name} OUTPUT_FILE ${FOLDER}/meshsim-${name}.1 COMMAND_ERROR_IS_FATAL ANY)
endforeach()
