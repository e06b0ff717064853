"""A checkout in which nothing is set up yet, on a machine of stand-ins: they write down how they were called, and leave
behind what the real tools would."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FILES = ["primal", "test", "CMakeLists.txt", "tools"]
STEPS = 20

# The first call also keeps what the user had been told by then.
NOTE = """[ -e "$MACHINE/calls" ] || cp "$MACHINE/stderr" "$MACHINE/told"
echo "{name} $*" >> "$MACHINE/calls"
"""
STUBS = {
    "id": 'echo "$USER_ID"',
    "dpkg": NOTE,
    "dpkg-query": 'sed "s/^/installed /" "$MACHINE/installed"',
    # Progress goes to descriptor 3, as in apt-get -o APT::Status-Fd=3; names begin after --no-install-recommends.
    "apt-get": NOTE
    + """case " $* " in *" install "*)
  echo "noise of apt"
  echo "dlstatus:1:50.0000:Retrieving file 1 of 2" >&3
  echo "pmstatus:g++:75.5000:Unpacking g++ (amd64)" >&3
  for name in ${*#*recommends}; do echo "$name" >> "$MACHINE/installed"; done
esac""",
    "python-stand-in": NOTE
    + """case "$*" in
  --version) echo Python 3.11.2 ;;
  *"-m venv "*) mkdir -p "$3/bin" "$3/lib" && cp "$0" "$3/bin/python" ;;
  *"-m pip "*)
    for name in torch==2.13.0 numpy==2.4.6; do echo "Collecting $name"; echo "  Downloading it"; done
    [ -z "$PIP_SLEEP" ] || sleep "$PIP_SLEEP"
    [ -z "$PIP_ERROR" ] || { echo "$PIP_ERROR" >&2; exit 1; }
    echo "Installing collected packages: all" ;;
  *sysconfig*) echo "$(dirname "$0")/../lib" ;;
esac""",
    "cmake": NOTE
    + """while [ "$1" != -S ]; do shift; done
mkdir -p "$2/build/$4" && cd "$2/build/$4" && echo PRIMAL_BUILD_TESTS:BOOL=ON > CMakeCache.txt && touch build.ninja
[ ! -e "$2/.venv/stamp-requirements-robots.txt" ] || echo PRIMAL_WITH_MUJOCO:INTERNAL=ON >> CMakeCache.txt
! grep -qx libhdf5-dev "$MACHINE/installed" || echo PRIMAL_HDF5:FILEPATH=/usr/lib/libhdf5.so >> CMakeCache.txt
""",
    "ninja": """program="$2/bin/primal"
if [ "$3" = -n ]; then
  [ -x "$program" ] && ! [ -e "$MACHINE/edited" ] && echo "ninja: no work to do." && exit
  echo "[20/20] Linking"; exit
fi
"""
    + NOTE
    + """echo "ninja: Entering directory"
[ -z "$NINJA_ERROR" ] || { echo "FAILED: train.cpp.o"; echo "$NINJA_ERROR"; exit 1; }
for i in $(seq 20); do echo "[$i/20] Building CXX object $i"; done
mkdir -p "$2/bin" && printf '#!/bin/sh\\necho "the program: $*"\\nexit 7\\n' > "$program" && chmod +x "$program"
rm -f "$MACHINE/edited"
""",
}


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str
    calls: str  # the commands that installed or built something


class FreshCheckout:
    """Copies the files of the front door into `folder`/checkout; the stand-ins are in `folder`/machine."""

    def __init__(self, folder: Path) -> None:
        self.path, self.machine = folder / "checkout", folder / "machine"
        for name in FILES:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            self.path.mkdir(exist_ok=True)
            copy(ROOT / name, self.path / name)
        (self.path / "src").mkdir()
        for i in range(STEPS):
            (self.path / "src" / f"{i}.cpp").touch()
        self.machine.mkdir()
        (self.machine / "installed").touch()
        for name, script in STUBS.items():
            self.stub(name, script.replace("{name}", name))

    def stub(self, name: str, script: str) -> None:
        path = self.machine / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def start(self, *arguments: str, command: str = "primal", user_id: int = 0, **environment: str) -> subprocess.Popen:
        """Starts ./primal (or ./test) without standard input; what it tells the user goes to the file `stderr`."""
        with open(self.machine / "stderr", "a") as told:
            return subprocess.Popen(
                [self.path / command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=told,
                text=True,
                env=self.environment(user_id) | environment,
                start_new_session=True,  # so that a test can press Ctrl-C
            )

    def run(self, *arguments: str, **options) -> "Result":
        self.forget()
        process = self.start(*arguments, **options)
        stdout, _ = process.communicate(timeout=60)
        return Result(process.returncode, stdout, self.told, self.calls)

    def environment(self, user_id: int = 0) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.machine}:{os.environ['PATH']}",
            "MACHINE": str(self.machine),
            "USER_ID": str(user_id),
            "PRIMAL_PYTHON": str(self.machine / "python-stand-in"),
        }

    @property
    def calls(self) -> str:
        file = self.machine / "calls"
        return file.read_text() if file.exists() else ""

    @property
    def told(self) -> str:
        return (self.machine / "stderr").read_text()

    @property
    def told_before_the_first_call(self) -> str:
        return (self.machine / "told").read_text()

    def edit_a_source(self) -> None:
        (self.machine / "edited").touch()

    def forget(self) -> None:
        """Of earlier calls, what was said and done."""
        for name in ("calls", "stderr"):
            (self.machine / name).unlink(missing_ok=True)
