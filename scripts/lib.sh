# Shared by the scripts beside it: where the repository is and how steps are shown. To be sourced.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=$root/.venv/bin/python

# step TEXT: a heading with the seconds since the script began.
step() { printf '\n==> [%3ds] %s\n' "$SECONDS" "$*"; }

# fail TEXT: ends the script.
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
