# shellcheck shell=bash
# Sourced by ./primal and ./test: brings a fresh Debian 12 machine to the point where the program runs.
# look finds out what is missing (in well under 0.3 s), announce says it, the steps of setup_steps.sh do it.

# shellcheck disable=SC2034 # the caller chooses among these lists
{
  readonly RUN_PACKAGES=(cmake g++ libcli11-dev libhwy-dev libjs-chart.js libpng-dev libsentencepiece-dev libtomlplusplus-dev ninja-build nlohmann-json3-dev python3-venv)
  readonly ROBOT_PACKAGES=(libhdf5-dev)
  readonly TEST_PACKAGES=(chromium clang-16 clang-format-16 libclang-rt-16-dev libgtest-dev python3-dev)
  readonly TIDY_PACKAGES=(clang-tidy-16)
}
readonly SETUP_LOCK=$ROOT/build/.setup-lock

# What the caller wants, and what look found missing of it. A build is "PRESET TESTS(ON|OFF) TARGET...", one that is not
# up to date "PRESET FILES WORDS...", where FILES is how many files there are to build, for the estimate.
WANTED_PACKAGES=() WANTED_REQUIREMENTS=() WANTED_BUILDS=() ROBOTS_WANTED=no
MISSING_PACKAGES=() STALE_REQUIREMENTS=() STALE_BUILDS=()

# want_robots: MuJoCo, HDF5, and builds that found them.
want_robots() {
  WANTED_PACKAGES+=("${ROBOT_PACKAGES[@]}")
  WANTED_REQUIREMENTS+=("$ROOT/tools/requirements-robots.txt")
  ROBOTS_WANTED=yes
}

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
fail() { say "$@"; exit 2; }

# shellcheck source=tools/progress.sh
source "$ROOT/tools/progress.sh"
# shellcheck source=tools/setup_steps.sh
source "$ROOT/tools/setup_steps.sh"

look() {
  look_for_packages
  look_for_requirements
  look_for_builds
}

look_for_packages() {
  MISSING_PACKAGES=()
  command -v dpkg-query >/dev/null || return 0 # not Debian: CMake says what it does not find
  local installed name
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${WANTED_PACKAGES[@]}" 2>/dev/null)
  for name in "${WANTED_PACKAGES[@]}"; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed $name"$'\n'* ]] || MISSING_PACKAGES+=("$name")
  done
}

# A stamp is a copy of the requirement file, put there after everything in it was installed.
stamp_of() { echo "$ROOT/.venv/stamp-${1##*/}"; }

look_for_requirements() {
  STALE_REQUIREMENTS=()
  local file stamp
  for file in "${WANTED_REQUIREMENTS[@]}"; do
    stamp=$(stamp_of "$file")
    [ -x "$ROOT/.venv/bin/python" ] && [ -f "$stamp" ] && [ "$(<"$file")" = "$(<"$stamp")" ] || STALE_REQUIREMENTS+=("$file")
  done
}

look_for_builds() {
  STALE_BUILDS=()
  local wanted words files
  for wanted in "${WANTED_BUILDS[@]}"; do
    read -ra words <<<"$wanted"
    files=$(files_to_build "${words[@]}")
    [ "$files" = 0 ] || STALE_BUILDS+=("${words[0]} $files")
  done
}

# is_configured PRESET TESTS
is_configured() {
  local build=$ROOT/build/$1
  [ -f "$build/build.ninja" ] && { [ "$2" = OFF ] || grep -q 'PRIMAL_BUILD_TESTS:[A-Z]*=ON' "$build/CMakeCache.txt"; } &&
    { [ "$ROBOTS_WANTED" = no ] || has_robots "$1"; }
}

# has_robots PRESET: whether CMake found what they need when it last looked; ninja does not notice that it came later.
has_robots() {
  local cache=$ROOT/build/$1/CMakeCache.txt
  # Fuzzers need no simulator.
  [ "$1" = fuzz ] || grep -q '^PRIMAL_WITH_MUJOCO:INTERNAL=ON' "$cache" || return 1
  # Where packages are not Debian's nothing here installs HDF5; the program says what it lacks.
  ! command -v dpkg-query >/dev/null || grep -q '^PRIMAL_HDF5:FILEPATH=/' "$cache"
}

# files_to_build PRESET TESTS TARGET...: their number and what to say of them, or 0.
files_to_build() {
  local preset=$1 tests=$2 files answer
  shift 2
  if ! is_configured "$preset" "$tests"; then
    # Some 20 files look at them or come after those that do.
    ROBOTS_WANTED=no is_configured "$preset" "$tests" && echo "20 what is for robots is added" && return
    files=$(count_sources "$preset" "$tests")
    echo "$files about $files files to build"
    return
  fi
  answer=$(ninja -C "$ROOT/build/$preset" -n "$@" 2>/dev/null)
  case $answer in
    *"no work to do"*) echo 0 ;;
    *"Re-running CMake"*) echo "1 what has changed is built again" ;; # ninja cannot see further than that
    *) [[ $answer =~ .*\[[0-9]+/([0-9]+)\] ]] && echo "${BASH_REMATCH[1]} files to build: ${BASH_REMATCH[1]}" || echo "1 to build" ;;
  esac
}

# count_sources PRESET TESTS: near enough to what CMake will find.
count_sources() {
  local folders=(src)
  [ "$2" = OFF ] || folders+=(tests)
  [ "$1" != fuzz ] || folders=(src/data tests/fuzz)
  (cd "$ROOT" && find "${folders[@]}" -name '*.cpp' | wc -l)
}

nothing_missing() { [ ${#MISSING_PACKAGES[@]} = 0 ] && [ ${#STALE_REQUIREMENTS[@]} = 0 ] && [ ${#STALE_BUILDS[@]} = 0 ]; }
only_builds_missing() { [ ${#MISSING_PACKAGES[@]} = 0 ] && [ ${#STALE_REQUIREMENTS[@]} = 0 ] && [ ${#STALE_BUILDS[@]} != 0 ]; }

# announce: what will be installed, where, and how long it takes; silent when nothing is missing.
announce() {
  nothing_missing && return
  local item preset files words seconds
  seconds=$(seconds_needed)
  say "this is set up first, $(in_words "$seconds"):"
  [ ${#MISSING_PACKAGES[@]} = 0 ] || say "  Debian packages, by apt-get: ${MISSING_PACKAGES[*]}"
  for item in "${STALE_REQUIREMENTS[@]}"; do say "  $ROOT/.venv: $(about_wheels "$item")"; done
  for item in "${STALE_BUILDS[@]}"; do
    read -r preset files words <<<"$item"
    say "  $ROOT/build/$preset: $words"
  done
  ((seconds < 60)) || say "Ctrl-C stops it; the next call goes on from there"
}

count_wheels() { grep -c '^[^#]' "$1"; }

# about_wheels FILE. The sizes were measured with the CPU wheel of torch 2.13.0.
about_wheels() {
  printf '%s wheels of tools/%s' "$(count_wheels "$1")" "${1##*/}"
  [ "${1##*/}" != requirements.txt ] || [ -f "$(stamp_of "$1")" ] || printf ', LibTorch among them: 220 MB to download, 1 GB on disk'
  [ "${1##*/}" != requirements-robots.txt ] || printf ', the simulator MuJoCo and models of robots: 8 MB to download, 26 MB on disk'
}

# Rough, for a server: packages and LibTorch take a minute each, a file 4 s of a core.
seconds_needed() {
  local seconds=0 item files cores
  cores=$(nproc)
  [ ${#MISSING_PACKAGES[@]} = 0 ] || seconds=$((seconds + 60))
  for item in "${STALE_REQUIREMENTS[@]}"; do
    [ "${item##*/}" = requirements.txt ] && seconds=$((seconds + 60)) || seconds=$((seconds + 15))
  done
  for item in "${STALE_BUILDS[@]}"; do
    read -r _ files _ <<<"$item"
    seconds=$((seconds + files * 4 / cores))
  done
  echo "$seconds"
}

in_words() {
  if (($1 < 60)); then echo "in less than a minute"; else echo "in about $((($1 + 59) / 60)) minutes on $(nproc) cores"; fi
}

# Two calls must not set up at once. Those that only look share the lock, so that they wait for none but one that sets
# up. It goes with the process.

# look_undisturbed: looks; false if another call is setting up at the moment.
look_undisturbed() {
  if [ -r "$SETUP_LOCK" ]; then
    exec 9<"$SETUP_LOCK"
    flock --shared --timeout 1 9 || return 1
  fi
  look
}

hold_setup_lock() {
  mkdir -p "$ROOT/build"
  [ -w "$ROOT/build" ] || fail "$ROOT/build cannot be written"
  exec 9>>"$SETUP_LOCK"
  flock --timeout 1 9 || { say "another call is setting up; waiting for it" && flock 9; }
  : >"$SETUP_LOG"
  trap 'say "interrupted; the next call goes on from here"; exit 130' INT
}

release_setup_lock() {
  trap - INT
  exec 9>&-
}
