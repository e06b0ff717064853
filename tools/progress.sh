# shellcheck shell=bash
# Sourced by setup.sh: how far a step has come. A filter for each tool turns what it prints into lines
# "@ DONE TOTAL TEXT"; show_progress draws them. All of them let Ctrl-C pass, which is for the tool at the other end of
# the pipe: its last words should still be seen.

# In a log: a line at every tenth of the way, and after so many seconds without one.
PROGRESS_SECONDS=15

# The status lines of apt (its README.progress-reporting): "dlstatus:1:20.5:Retrieving ...", "pmstatus:cmake:45.2:...".
apt_progress() {
  trap '' INT
  sed -unE -e 's/^dlstatus:[^ ]*:([0-9]+)([.,][0-9]+)?:.*/@ \1 100 fetching, \1 %/p' \
    -e 's/^pmstatus:[^ ]*:([0-9]+)([.,][0-9]+)?:.*/@ \1 100 installing, \1 %/p'
}

# pip_progress TOTAL: counts the wheels that pip begins with; everything goes to the log.
pip_progress() {
  trap '' INT
  local total=$1 begun=0 line
  while IFS= read -r line; do
    echo "$line" >>"$SETUP_LOG"
    case $line in
      Collecting\ * | Processing\ * | "Requirement already satisfied"*)
        begun=$((begun + 1))
        echo "@ $((begun - 1)) $total fetching $begun of $total"
        ;;
      "Installing collected"*) echo "@ $total $total $total of $total fetched, unpacking" ;;
    esac
  done
}

# "[12/131] Building ..." becomes progress; errors of the compiler pass.
ninja_progress() {
  trap '' INT
  sed -uE -e '/^ninja: (Entering directory|no work to do)/d' -e '/^-- /d' \
    -e 's#^\[([0-9]+)/([0-9]+)\].*#@ \1 \2 \1 of \2 files#'
}

# show_progress LABEL [TEXT]: one line drawn over on a terminal, a line now and then in a log. Other lines than those of the
# filters are passed on. For the end of a pipe, hence a process of its own.
show_progress() {
  trap '' INT
  local label=$1 text=${2-} tenth='' line part='' status shown='' shown_at=$SECONDS began=$SECONDS
  draw now
  while true; do
    IFS= read -r -t 1 line
    status=$?
    part+=$line # at a time-out: the beginning of a line
    if ((status > 128)); then
      draw later
    elif [ -n "$part" ] || ((status == 0)); then
      take "$part"
      part=''
    else
      break
    fi
  done
  [ "$(progress_text)" = "$shown" ] || draw now
  [ ! -t 2 ] || echo >&2
}

progress_text() { printf '%s: %s%s' "${0##*/}" "$label" "${text:+: $text}"; }

# draw now|later: in a log, later means: if it has been quiet for long.
draw() {
  local clock=''
  ((SECONDS == began)) || clock=" ($((SECONDS - began)) s)"
  if [ -t 2 ]; then
    printf '\r\033[K%s%s' "$(progress_text)" "$clock" >&2
  elif [ "$1" = now ] || ((SECONDS - shown_at >= PROGRESS_SECONDS)); then
    shown=$(progress_text) shown_at=$SECONDS
    printf '%s%s\n' "$shown" "$clock" >&2
  fi
}

# take LINE
take() {
  local mark finished total words
  read -r mark finished total words <<<"$1"
  if [ "$mark" != @ ]; then
    [ ! -t 2 ] || printf '\r\033[K' >&2
    printf '%s\n' "$1" >&2
    return
  fi
  text=$words
  local before=$tenth
  tenth=$((10 * finished / (total > 0 ? total : 1)))
  if [ "$tenth" = "$before" ]; then draw later; else draw now; fi
}
