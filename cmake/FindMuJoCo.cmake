# Optional: the simulator of robots and their models, from the wheels mujoco and gymnasium (tools/requirements-robots.txt) of
# the Python that LibTorch comes from. Gives the target MuJoCo::MuJoCo, the folder
# PRIMAL_MUJOCO_LIBRARY_DIR of its library and PRIMAL_ROBOT_MODELS of the models; or none of them.
# No other version: it need not give the same trajectories.
set(PRIMAL_MUJOCO_VERSION 3.3.7)
execute_process(
  COMMAND ${PRIMAL_PYTHON} -c "import importlib.util, pathlib; print(*(pathlib.Path(importlib.util.find_spec(name).origin).parent for name in ('mujoco', 'gymnasium')), sep=';', end='')"
  OUTPUT_VARIABLE packages RESULT_VARIABLE status ERROR_QUIET)
set(PRIMAL_WITH_MUJOCO OFF)
if(status EQUAL 0)
  list(GET packages 0 mujoco)
  list(GET packages 1 gymnasium)
  set(library ${mujoco}/libmujoco.so.${PRIMAL_MUJOCO_VERSION})
  if(EXISTS ${library} AND EXISTS ${mujoco}/include/mujoco/mujoco.h)
    set(PRIMAL_WITH_MUJOCO ON)
    set(PRIMAL_MUJOCO_LIBRARY_DIR ${mujoco})
    set(PRIMAL_ROBOT_MODELS ${gymnasium}/envs/mujoco/assets)
    # Global: whatever is linked with the layer takes the library, and a run path to it.
    add_library(MuJoCo::MuJoCo SHARED IMPORTED GLOBAL)
    set_target_properties(MuJoCo::MuJoCo PROPERTIES
      IMPORTED_LOCATION ${library}
      INTERFACE_INCLUDE_DIRECTORIES ${mujoco}/include)
  endif()
endif()
# tools/setup.sh looks here whether the build has to be configured anew.
set(PRIMAL_WITH_MUJOCO ${PRIMAL_WITH_MUJOCO} CACHE INTERNAL "Whether robots can be simulated")
