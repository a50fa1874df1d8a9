# tests/bench/bench_*.c and .cpp: programs that print rates; ctest does not run them.
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/bench/bench_*.c
     ${PROJECT_SOURCE_DIR}/tests/bench/bench_*.cpp)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ms_flags meshsim_library PkgConfig::SIMGRID PkgConfig::YAML hdf5::hdf5 ZLIB::ZLIB)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/sim)
  target_compile_definitions(${name} PRIVATE MS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endforeach()
