# Shared by the scripts beside it: where the repository is and how steps are shown. To be sourced.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=$root/.venv/bin/python
torch_python=$root/.venv-torch/bin/python   # scripts/setup --torch makes it
paddle_python=$root/.venv-paddle/bin/python # scripts/setup --paddle makes it

# step TEXT: a heading with the seconds since the script began.
step() { printf '\n==> [%3ds] %s\n' "$SECONDS" "$*"; }

# fail TEXT: ends the script.
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# run_steps NAME ...: calls run_NAME of each and ends with the last lines of those that failed, a table and the
# line "N passed, N failed"; fails if one did.
run_steps() {
  local passed=0 failed=0 summary='' reasons='' name begin result output
  output=$(mktemp)
  for name in "$@"; do
    declare -F "run_$name" >/dev/null || fail "unknown step \"$name\""
    step "$name"
    begin=$SECONDS
    "run_$name" 2>&1 | tee "$output"
    if [ "${PIPESTATUS[0]}" = 0 ]; then
      passed=$((passed + 1)) result=passed
    else
      failed=$((failed + 1)) result=FAILED
      reasons+=$'\n'"==> why $name failed"$'\n'$(tail -n 40 "$output" | cut -c 1-400)$'\n'
    fi
    summary+=$(printf '%-14s %-7s %4ds' "$name" $result $((SECONDS - begin)))$'\n'
  done
  rm "$output"
  printf '%s\n%s\n%d passed, %d failed\n' "$reasons" "$summary" $passed $failed
  [ $failed = 0 ]
}

# build_preset PRESET [TARGET ...]: configures a preset of CMakePresets.json once and builds the targets, or all.
build_preset() {
  local preset=$1 folder
  folder=build-${1%%-*}
  shift
  [ -f "$folder/build.ninja" ] || cmake --preset "$preset" >/dev/null || return
  ninja -C "$folder" "$@" >/dev/null || ninja -C "$folder" "$@"
}

# The programs that fuzzing needs.
fuzz_targets=(FuzzRaw FuzzRehashed EplWriteCorpus FuzzFrames FuzzManifest EplWriteServersCorpus)

# fuzz TARGET RUNS [OPTION ...]: a fuzz target over plans of every shape, those of the models among them, or over what
# parameter servers read, and over what was a bug once; the same mutants in every run.
fuzz() {
  local target=$1 runs=$2 found
  shift 2
  found=$(mktemp -d)
  case $target in
  FuzzFrames | FuzzManifest) build-fuzz/bin/EplWriteServersCorpus "$target" "$found" || return ;;
  *) build-fuzz/bin/EplWriteCorpus "$found" build/test/plans/*.eplan || return ;;
  esac
  build-fuzz/bin/"$target" -seed=1 -runs="$runs" -max_len=16384 -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_funcs=0 \
    -print_final_stats=1 -artifact_prefix="$target-" "$@" "$found" test/fuzz/corpus
  local status=$?
  rm -r "$found"
  return $status
}
