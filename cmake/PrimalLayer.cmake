# The flags of our own code, and primal_add_layer(): one layer of src/ as a CMake object library.
add_library(primal_flags INTERFACE)
target_compile_options(primal_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
if(PRIMAL_SANITIZE)
  # Instrumented, LibTorch's inline functions make g++ 12 see uninitialised optionals, and warn that ThreadSanitizer does
  # not follow memory fences.
  target_compile_options(primal_flags INTERFACE
    -fsanitize=${PRIMAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1 -O1
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_link_options(primal_flags INTERFACE -fsanitize=${PRIMAL_SANITIZE})
endif()

# primal_add_layer(NAME [TENSORS | MODULES] SOURCES... [USES layer...] [LIBS target...])
#   TENSORS, MODULES  the layer sees LibTorch: tensors and operators, or torch::nn as well
#   USES              layers whose headers it includes; those must come earlier in the list
function(primal_add_layer name)
  cmake_parse_arguments(arg "TENSORS;MODULES" "" "SOURCES;USES;LIBS" ${ARGN})
  set(target primal_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE primal_flags ${arg_LIBS})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(used IN LISTS arg_USES)
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:primal_${used},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  primal_unite(${target})
  if(arg_TENSORS)
    primal_use_torch(${target} tensors)
  elseif(arg_MODULES)
    primal_use_torch(${target} modules)
  endif()
endfunction()

# Most of the time that a file takes goes into LibTorch's templates, once for all files that are compiled at once. Files
# with options of their own are compiled alone.
function(primal_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PRIMAL_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# Precompiled headers, each made once and reused by every target with the same flags. They hold what nearly every file of
# a kind needs and no more: with the whole of torch/torch.h a file takes 9 s, because g++ instantiates the header's pending
# templates anew in each; with these it takes 3 s (tensors) or 5 s (modules).
set(PRIMAL_HEADERS_tensors <ATen/ATen.h> <torch/library.h>)
set(PRIMAL_HEADERS_modules ${PRIMAL_HEADERS_tensors} <torch/nn/cloneable.h> <torch/nn/modules/linear.h> <torch/nn/pimpl.h>)

function(primal_use_torch target headers)
  target_link_libraries(${target} PUBLIC torch ${PRIMAL_OPENMP_LIBRARY})
  set(pch primal_pch_${headers})
  if(NOT TARGET ${pch})
    file(WRITE ${PROJECT_BINARY_DIR}/${pch}.cpp "")
    add_library(${pch} OBJECT ${PROJECT_BINARY_DIR}/${pch}.cpp)
    target_link_libraries(${pch} PRIVATE primal_flags torch)
    target_precompile_headers(${pch} PRIVATE ${PRIMAL_HEADERS_${headers}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# An executable of ours that sees LibTorch. The precompiled header is compiled with -fPIC for the shared library; an
# executable would get -fPIE, which the compiler refuses to mix with it.
function(primal_add_executable target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE primal_flags)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF BUILD_RPATH "${PRIMAL_TORCH_LIBRARY_DIR}")
  target_compile_options(${target} PRIVATE -fPIC)
  primal_use_torch(${target} modules)
endfunction()

# Files that call at::parallel_for: without -fopenmp LibTorch's header makes it a serial loop. The precompiled headers are
# made without it.
function(primal_parallel_sources)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fopenmp SKIP_PRECOMPILE_HEADERS ON)
endfunction()
