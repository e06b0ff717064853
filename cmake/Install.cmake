# cmake --install: library, headers and find_package(primal); or, for the Python wheel, the library alone.
option(PRIMAL_PYTHON_PACKAGE "Install libprimal.so into the Python package instead of a prefix" OFF)

if(PRIMAL_PYTHON_PACKAGE)
  # site-packages/primal/lib/libprimal.so finds site-packages/torch/lib
  set_target_properties(primal PROPERTIES INSTALL_RPATH "$ORIGIN/../../torch/lib")
  install(TARGETS primal LIBRARY DESTINATION lib)
  return()
endif()

set_target_properties(primal PROPERTIES INSTALL_RPATH "${PRIMAL_TORCH_LIBRARY_DIR}")
install(TARGETS primal EXPORT primalTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/primal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/primal)
install(EXPORT primalTargets NAMESPACE primal:: DESTINATION ${config_dir})
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/primalConfig.cmake.in ${PROJECT_BINARY_DIR}/primalConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/primalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/primalConfig.cmake ${PROJECT_BINARY_DIR}/primalConfigVersion.cmake DESTINATION ${config_dir})
if(PRIMAL_BUILD_CLI)
  set_target_properties(primal_cli PROPERTIES INSTALL_RPATH "${PRIMAL_TORCH_LIBRARY_DIR}")
  install(TARGETS primal_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/primal)
endif()
