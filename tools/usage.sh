# shellcheck shell=bash
# Sourced by ./primal: answers that need no program. usage.txt is what `primal --help` prints; a test compares the two.

readonly USAGE=$ROOT/tools/usage.txt

# answer_from_usage ARGUMENTS...: answers what the program would, and exits; returns if only the program can answer.
answer_from_usage() {
  case ${1-} in
    -h | --help) cat "$USAGE" && exit 0 ;;
    --version) echo "primal $(version)" && exit 0 ;;
    "" | -*) fail "A subcommand is required; try --help" ;;
  esac
  is_command "$1" || refuse_command "$1"
  asks_for_help "${@:2}" || return 0
  cat "$USAGE"
  printf 'The options of %s are listed here once the program is built. Any command that needs it builds it: ./primal info\n' "$1"
  exit 0
}

version() { [[ $(<"$ROOT/CMakeLists.txt") =~ project\(primal\ VERSION\ ([0-9.]+) ]] && echo "${BASH_REMATCH[1]}"; }

commands() { sed -n '/^Subcommands:/,$ s/^  \([a-z][a-z-]*\) .*/\1/p' "$USAGE"; }

is_command() { commands | grep -qxF -e "$1"; }

asks_for_help() {
  local word
  for word in "$@"; do
    case $word in -h | --help) return 0 ;; --) return 1 ;; esac
  done
  return 1
}

refuse_command() {
  local meant
  meant=$(nearest_command "$1")
  fail "there is no command $1${meant:+; did you mean $meant?} (--help lists all)"
}

# nearest_command WORD: by the rule of src/data/nearest.cpp: nothing if more than half of the longer name would change.
nearest_command() {
  local LC_ALL=C word=${1:0:64} name distance longer best='' best_distance=65
  for name in $(commands); do
    distance=$(edit_distance "$word" "$name")
    longer=$((${#word} > ${#name} ? ${#word} : ${#name}))
    ((2 * distance <= longer && distance < best_distance)) && best=$name best_distance=$distance
  done
  echo "$best"
}

# edit_distance A B: Levenshtein's, row by row; upper and lower case are equal.
edit_distance() {
  local a=${1,,} b=${2,,} i j diagonal above least row=()
  for ((j = 0; j <= ${#b}; j++)); do row[j]=$j; done
  for ((i = 0; i < ${#a}; i++)); do
    diagonal=${row[0]} row[0]=$((i + 1))
    for ((j = 0; j < ${#b}; j++)); do
      above=${row[j + 1]}
      [ "${a:i:1}" = "${b:j:1}" ] && least=$diagonal || least=$((diagonal + 1))
      ((row[j] + 1 >= least)) || least=$((row[j] + 1))
      ((above + 1 >= least)) || least=$((above + 1))
      diagonal=$above row[j + 1]=$least
    done
  done
  echo "${row[${#b}]}"
}
