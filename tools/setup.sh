# Sourced by ./primal and ./test: brings a fresh Debian 12 machine to the point where the program runs.
# Each step first looks whether it has anything to do; all looks together take well under 0.3 s.

readonly RUN_PACKAGES=(cmake g++ libcli11-dev libhwy-dev libjs-chart.js libtomlplusplus-dev ninja-build nlohmann-json3-dev python3-venv)
readonly TEST_PACKAGES=(chromium clang-16 clang-format-16 libclang-rt-16-dev libgtest-dev python3-dev)
readonly TIDY_PACKAGES=(clang-tidy-16)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
fail() { say "$@"; exit 2; }

# setup_packages NAME...: Debian packages, installed if root, else named in the command that installs them.
setup_packages() {
  command -v dpkg-query >/dev/null || return 0 # not Debian: CMake says what it does not find
  local installed missing=() name
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null)
  for name in "$@"; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed $name"$'\n'* ]] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  [ "$(id -u)" = 0 ] || fail "Debian packages are missing; run: sudo apt-get update && sudo $command"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2 && $command -qq >&2 </dev/null || fail "this failed: $command"
}

# The first Python between 3.10 and 3.14 that runs (a shim may be there and not run).
find_python() {
  local name
  for name in ${PRIMAL_PYTHON:-python3.11 python3 /usr/bin/python3}; do
    "$name" -c 'import sys, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' 2>/dev/null && echo "$name" && return
  done
  fail "no Python from 3.10 to 3.14 with venv found; set PRIMAL_PYTHON"
}

# setup_venv FILE...: .venv with exactly these requirement files, made once and again when one of them changes.
setup_venv() {
  local file stamp python
  for file in "$@"; do
    stamp=$ROOT/.venv/stamp-$(basename "$file")
    cmp -s "$file" "$stamp" && continue
    if ! [ -x "$ROOT/.venv/bin/python" ]; then
      python=$(find_python) || exit 2
      say "creating .venv with $("$python" --version)"
      "$python" -m venv "$ROOT/.venv" || fail "could not create .venv"
    fi
    say "installing $(basename "$file") into .venv"
    "$ROOT/.venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$file" >&2 || fail "pip could not install $file"
    # The checkout's own package, so that .venv/bin/python finds `import primal`.
    echo "$ROOT/python" > "$("$ROOT/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/primal-checkout.pth"
    cp "$file" "$stamp"
  done
}

# setup_build PRESET TESTS(ON|OFF) TARGET...: configures when needed, builds what is out of date.
setup_build() {
  local preset=$1 tests=$2 build=$ROOT/build/$1
  shift 2
  if [ ! -f "$build/build.ninja" ] || { [ "$tests" = ON ] && ! grep -q 'PRIMAL_BUILD_TESTS:[A-Z]*=ON' "$build/CMakeCache.txt"; }; then
    (cd "$ROOT" && cmake --preset "$preset" -DPRIMAL_BUILD_TESTS="$tests" -DPRIMAL_PYTHON="$ROOT/.venv/bin/python" --log-level=WARNING >&2) ||
      fail "cmake --preset $preset failed"
  fi
  case "$(ninja -C "$build" -n "$@" 2>/dev/null)" in
    *"no work to do"*) return 0 ;;
  esac
  say "building build/$preset (from scratch: a few minutes)"
  ninja -C "$build" "$@" >&2 || fail "the build failed"
}

# with_setup_lock: two programs started at once must not set up at once. The lock goes with the process.
with_setup_lock() {
  mkdir -p "$ROOT/build"
  exec 9>"$ROOT/build/.setup-lock"
  flock 9
}
release_setup_lock() { exec 9>&-; }
