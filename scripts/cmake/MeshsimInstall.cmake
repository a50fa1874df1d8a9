# cmake --install: program, man pages, completion, library, headers, pkg-config file, inputs, licence.
if(TARGET meshsim)
  install(TARGETS meshsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS ms_simgrid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/meshsim)
  if(TARGET meshsim_shared)
    install(TARGETS meshsim_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  # what the commands of the Python package are called with (sim/cli/tool_commands.c)
  set(package ${PROJECT_SOURCE_DIR}/scripts/python/meshsim/tools)
  file(GLOB_RECURSE package_modules CONFIGURE_DEPENDS ${package}/*.py)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/tools.json DEPENDS ${package_modules}
    COMMAND /usr/bin/python3 -I ${package}/_start.py --describe > ${PROJECT_BINARY_DIR}/tools.json VERBATIM)
  add_custom_target(tools_described DEPENDS ${PROJECT_BINARY_DIR}/tools.json)
  add_dependencies(meshsim tools_described)
  install(FILES ${PROJECT_BINARY_DIR}/tools.json DESTINATION ${CMAKE_INSTALL_DATADIR}/meshsim)
  # the program writes its own man pages, from its option tables and from what the Python commands say of themselves
  set_property(TARGET meshsim APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/tools.json)
  add_custom_command(TARGET meshsim POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:meshsim> -DFOLDER=${PROJECT_BINARY_DIR}/man1
            -P ${PROJECT_SOURCE_DIR}/scripts/cmake/ManPages.cmake
    VERBATIM)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  set(completion ${PROJECT_SOURCE_DIR}/scripts/completion)
  install(FILES ${completion}/meshsim.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME meshsim)
  install(FILES ${completion}/_meshsim DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${completion}/meshsim.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  # and editors' schemas from its tables of keys
  foreach(kind workload platform gpu library framework space sweep)
    list(APPEND schema_commands COMMAND meshsim schema ${kind} > ${PROJECT_BINARY_DIR}/schema/${kind}.json)
  endforeach()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/schema)
  add_custom_command(TARGET meshsim POST_BUILD ${schema_commands} VERBATIM)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/meshsim)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/meshsim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/platforms ${PROJECT_SOURCE_DIR}/workloads
        DESTINATION ${CMAKE_INSTALL_DATADIR}/meshsim)
# the commands that Python answers (sim/cli/tool.c)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts/python/meshsim DESTINATION ${CMAKE_INSTALL_DATADIR}/meshsim/python
        PATTERN "__pycache__" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Paths relative to the file itself, so that `cmake --install --prefix` may name another place than was configured.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/scripts/cmake/meshsim.pc.in ${PROJECT_BINARY_DIR}/meshsim.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/meshsim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
