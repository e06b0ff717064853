# The flags of our own code, and primal_add_layer(): one layer of src/ as a CMake object library.
add_library(primal_flags INTERFACE)
target_compile_options(primal_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
if(PRIMAL_SANITIZE)
  target_compile_options(primal_flags INTERFACE -fsanitize=${PRIMAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_link_options(primal_flags INTERFACE -fsanitize=${PRIMAL_SANITIZE})
endif()

# primal_add_layer(NAME [TORCH] SOURCES... [USES layer...] [LIBS target...])
#   TORCH  the layer sees LibTorch, through the shared precompiled header
#   USES   layers whose headers it includes; those must come earlier in the list
function(primal_add_layer name)
  cmake_parse_arguments(arg "TORCH" "" "SOURCES;USES;LIBS" ${ARGN})
  set(target primal_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE primal_flags ${arg_LIBS})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(used IN LISTS arg_USES)
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:primal_${used},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  if(arg_TORCH)
    primal_use_torch(${target})
  endif()
endfunction()

# Compiling torch/torch.h takes about 25 s: it is done once, in primal_pch, and reused by every target with the same flags.
function(primal_use_torch target)
  target_link_libraries(${target} PUBLIC torch)
  if(NOT TARGET primal_pch)
    file(WRITE ${PROJECT_BINARY_DIR}/pch.cpp "")
    add_library(primal_pch OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
    target_link_libraries(primal_pch PRIVATE primal_flags torch)
    target_precompile_headers(primal_pch PRIVATE <torch/torch.h> <torch/library.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM primal_pch)
endfunction()

# An executable of ours that sees LibTorch. The precompiled header is compiled with -fPIC for the shared library; an
# executable would get -fPIE, which the compiler refuses to mix with it.
function(primal_add_executable target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE primal_flags)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF BUILD_RPATH "${PRIMAL_TORCH_LIBRARY_DIR}")
  target_compile_options(${target} PRIVATE -fPIC)
  primal_use_torch(${target})
endfunction()
