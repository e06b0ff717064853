# LibTorch is the one inside the torch wheel of the Python that is asked for (PRIMAL_PYTHON, else the first python3 that has it).
set(PRIMAL_TORCH_VERSION 2.13.0)
if(NOT DEFINED PRIMAL_PYTHON)
  if(DEFINED Python_EXECUTABLE)
    set(PRIMAL_PYTHON ${Python_EXECUTABLE}) # given by scikit-build-core
  else()
    find_program(PRIMAL_PYTHON NAMES python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin NO_CMAKE_SYSTEM_PATH)
  endif()
endif()
execute_process(
  COMMAND ${PRIMAL_PYTHON} -c "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('torch').origin).parent, end='')"
  OUTPUT_VARIABLE PRIMAL_TORCH_DIR RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "primal: ${PRIMAL_PYTHON} has no torch; install it with: ${PRIMAL_PYTHON} -m pip install torch==${PRIMAL_TORCH_VERSION}")
endif()
list(APPEND CMAKE_PREFIX_PATH ${PRIMAL_TORCH_DIR}/share/cmake)
set(PRIMAL_TORCH_LIBRARY_DIR ${PRIMAL_TORCH_DIR}/lib)
# The wheel's CMake files are noisy about optional parts (MKL, kineto) that a user of the library does not need.
set(CMAKE_MESSAGE_LOG_LEVEL_SAVED ${CMAKE_MESSAGE_LOG_LEVEL})
set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
find_package(Torch ${PRIMAL_TORCH_VERSION} EXACT REQUIRED)
set(CMAKE_MESSAGE_LOG_LEVEL ${CMAKE_MESSAGE_LOG_LEVEL_SAVED})

# The OpenMP library of LibTorch itself: a second one would bring threads of its own.
file(GLOB PRIMAL_OPENMP_LIBRARY ${PRIMAL_TORCH_LIBRARY_DIR}/libgomp*.so*)
if(NOT PRIMAL_OPENMP_LIBRARY)
  find_package(OpenMP REQUIRED)
  set(PRIMAL_OPENMP_LIBRARY OpenMP::OpenMP_CXX)
endif()
