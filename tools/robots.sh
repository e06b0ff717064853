# shellcheck shell=bash
# Sourced by ./primal: whether a call is about robots. Only those need MuJoCo and HDF5.

# names_robots ARGUMENTS...: whether one is a task of offline reinforcement learning, or a run or a settings file of one.
names_robots() {
  local word
  for word in "$@"; do
    word=${word#--*=}
    case $word in
      offline-rl/*) return 0 ;;
      *.toml) chooses_robots "$word" && return 0 ;;
      *) [ -d "$word" ] && chooses_robots "$word"/config.toml "$word"/seed-*/config.toml && return 0 ;;
    esac
  done
  return 1
}

# chooses_robots FILE...: by `family = "offline_rl"`, or by a preset to start from, "offline-rl/...".
chooses_robots() { grep -qsE '= *"offline[-_]rl["/]' -- "$@"; }
