# shellcheck shell=bash
# Sourced by setup.sh: the steps that install and build. Each can be cut short at any instant: the next call does it again
# or goes on. None reads standard input; what they print goes to the log, and to the user only when a step fails.

readonly SETUP_LOG=$ROOT/build/setup.log

fail_with_log() {
  tail -n 20 "$SETUP_LOG" >&2
  fail "$* (all of its output: $SETUP_LOG)"
}

# quietly LABEL COMMAND...: a step that does not tell how far it is.
quietly() {
  local label=$1
  shift
  "$@" </dev/null >>"$SETUP_LOG" 2>&1 | show_progress "$label" || fail_with_log "this failed: $*"
}

# install_packages: as root; else the command is named that does it.
install_packages() {
  [ ${#MISSING_PACKAGES[@]} -gt 0 ] || return 0
  local install=(install -y --no-install-recommends "${MISSING_PACKAGES[@]}")
  [ "$(id -u)" = 0 ] || fail "only root can install Debian packages; call again after: sudo apt-get update && sudo apt-get ${install[*]}"
  apt_get "${install[@]}" 3>&1 >>"$SETUP_LOG" 2>&1 </dev/null | apt_progress | show_progress "Debian packages" "reading the lists" ||
    fail_with_log "this failed: apt-get ${install[*]}"
}

# apt_get ARGUMENTS...: with fresh lists; progress goes to descriptor 3.
apt_get() {
  export DEBIAN_FRONTEND=noninteractive
  # After an interrupted installation apt-get refuses to work until dpkg has tidied up.
  dpkg --configure -a
  apt-get update -qq && apt-get -qq -o APT::Status-Fd=3 "$@"
}

# The first Python between 3.10 and 3.14 that runs (a shim may be there and not run).
find_python() {
  local name
  for name in ${PRIMAL_PYTHON:-python3.11 python3 /usr/bin/python3}; do
    "$name" -c 'import sys, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' 2>/dev/null && echo "$name" && return
  done
  fail "no Python from 3.10 to 3.14 with venv found; set PRIMAL_PYTHON"
}

# Without a stamp .venv may have been cut short before pip was in it; making it again keeps what is there.
make_venv() {
  [ -x "$ROOT/.venv/bin/python" ] && compgen -G "$ROOT/.venv/stamp-*" >/dev/null && return
  local python
  python=$(find_python) || exit 2
  quietly "creating .venv with $("$python" --version)" "$python" -m venv "$ROOT/.venv"
}

# install_requirements: .venv with exactly these requirement files, again when one of them changes.
install_requirements() {
  local file
  for file in "${STALE_REQUIREMENTS[@]}"; do
    make_venv
    rm -f "$(stamp_of "$file")" # from now on .venv is neither what it was nor what it will be
    pip_install -r "$file" 2>&1 </dev/null | pip_progress "$(count_wheels "$file")" | show_progress "wheels of ${file##*/}" ||
      fail_with_log "pip could not install $file"
    # The checkout's own package, so that .venv/bin/python finds `import primal`.
    echo "$ROOT/python" >"$("$ROOT/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/primal-checkout.pth"
    cp "$file" "$(stamp_of "$file")"
  done
}

pip_install() {
  PYTHONUNBUFFERED=1 "$ROOT/.venv/bin/python" -m pip install --no-input --disable-pip-version-check --progress-bar off --no-deps "$@"
}

build_all() {
  local wanted words
  for wanted in "${WANTED_BUILDS[@]}"; do
    read -ra words <<<"$wanted"
    build "${words[@]}"
  done
}

# build PRESET TESTS(ON|OFF) TARGET...: configures when needed, builds what is out of date.
build() {
  local preset=$1 tests=$2
  is_configured "$preset" "$tests" || configure "$preset" "$tests"
  [ "$(files_to_build "$@")" != 0 ] || return 0
  shift 2
  ninja -C "$ROOT/build/$preset" "$@" 2>&1 </dev/null | ninja_progress | show_progress "building build/$preset" || fail "the build failed"
}

# configure PRESET TESTS
configure() {
  quietly "configuring build/$1" \
    cmake -S "$ROOT" --preset "$1" -DPRIMAL_BUILD_TESTS="$2" -DPRIMAL_PYTHON="$ROOT/.venv/bin/python" --log-level=WARNING
}
