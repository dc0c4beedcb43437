#!/bin/sh
# Runs what is in this folder on the GPUs of this machine: what the plugin relies on of a driver, then each plan beside
# the answers of plain loops. Needs a driver, and CUDA's cublasLt and NCCL where they shall be used.
#
#   ./run.sh                      all
#   ./run.sh --only gpt           plans whose names begin so
#   ./run.sh --sanitizer          under compute-sanitizer, which CUDA's toolkit has
#   ./run.sh --cards 2            how many GPUs there are; default: as nvidia-smi says
#   ./run.sh --benchmarks         instead, of some plans what commands take beside what epl-plan predicts, by kind of
#                                 command; with --only of others
#   ./run.sh --card h100          for which card: a kind, or a file (epl-plan machine --kind); default: by its name
#
# Prints a line for each run, and what failed. Exit codes: 0 all are right, 1 some are not, 3 there is no driver.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
only='' before='' cards='' benchmarks='' card=''
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=$2; shift 2 ;;
    --cards) cards=$2; shift 2 ;;
    --card) card=$2; shift 2 ;;
    --benchmarks) benchmarks=1; shift ;;
    --sanitizer) before='compute-sanitizer --error-exitcode 9'; shift ;;
    *) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
[ -n "$cards" ] || cards=$(nvidia-smi -L 2>/dev/null | wc -l)
[ -d "$here/plans" ] || tar -xzf "$here/plans.tar.gz" -C "$here" || exit 1

passed=0 failed=0
check() { # what it is, and the command
  what=$1
  shift
  "$@" > "$here/output.txt" 2>&1
  code=$?
  if [ "$code" = 0 ]; then
    passed=$((passed + 1))
    echo "ok    $what"
    return
  fi
  failed=$((failed + 1))
  echo "FAIL  $what (exit code $code)"
  grep -v ': equal$' "$here/output.txt" | tail -n 20 | sed 's/^/      /'
}

# What there is no driver for is not tried twice.
read -r plan answers inputs devices tolerance < "$here/plans/list.txt"
"$here/bin/epl-run" "$here/plans/$plan" --inputs random:0 > "$here/output.txt" 2>&1
if [ $? = 3 ]; then
  cat "$here/output.txt"
  rm -f "$here/output.txt"
  exit 3
fi

# The kind of a card by its name.
kind_of() {
  case $1 in
    *A100*) echo a100 ;; *H100*) echo h100 ;; *H200*) echo h200 ;; *B200*) echo b200 ;;
  esac
}

# Of a plan on some devices: the timeline of 12 steps, whose medians stand beside predictions.
benchmark() {
  plan=$1 inputs=$2 place=$3
  "$here/bin/epl-run" "$here/plans/$plan" --devices "$place" --inputs "$inputs" --steps 12 \
    --trace "$here/timeline.json" > "$here/output.txt" 2>&1 &&
    "$here/bin/epl-plan" explain "$here/plans/$plan" --devices "$place" --card "$card" --trace "$here/timeline.json" \
      > "$here/output.txt" 2>&1
  if [ $? != 0 ]; then
    failed=$((failed + 1))
    echo "FAIL  ${plan%.*} on $place"
    tail -n 20 "$here/output.txt" | sed 's/^/      /'
    return
  fi
  passed=$((passed + 1))
  echo
  echo "${plan%.*} on $place"
  sed -n '/^predicted beside measured/,/^$/p' "$here/output.txt"
}

if [ -n "$benchmarks" ]; then
  name=$("$here/bin/EplCardTests" --gtest_filter=Rules.ACardHasAName 2>/dev/null | sed -n 's/^card: //p')
  [ -n "$card" ] || card=$(kind_of "$name")
  echo "measured on: ${name:-a card without a name}"
  case $name in
    *stand-in*) echo "these are times of the stand-in, which runs kernels on a CPU: they say nothing of a card" ;;
  esac
  [ -n "$card" ] || echo "no table of a card of that name, so predictions are for h100: --card says another"
  card=${card:-h100}
  echo "predicted for: $card"
  while read -r plan answers inputs devices tolerance; do
    case $plan in "${only:-gpt0.}"* | "${only:-mlp0.}"* | "${only:-cnn0.}"*) ;; *) continue ;; esac
    case $inputs in random:*) ;; *) inputs=$here/plans/$inputs ;; esac
    if [ "$devices" = 1 ]; then
      benchmark "$plan" "$inputs" cuda:0
    elif [ "$devices" = 2 ]; then
      place=cuda:0-1
      [ "$cards" -ge 2 ] || place=cuda:0x2
      benchmark "$plan" "$inputs" "$place"
    fi
  done < "$here/plans/list.txt"
  rm -f "$here/output.txt" "$here/timeline.json"
  echo "$passed measured, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" != 0 ]
  exit
fi

[ -n "$only" ] || check "what the plugin relies on of a driver" $before "$here/bin/EplCardTests" --gtest_brief=1

# On one card; those of several devices also with a card for each.
while read -r plan answers inputs devices tolerance; do
  case $plan in "$only"*) ;; *) continue ;; esac
  case $inputs in random:*) ;; *) inputs=$here/plans/$inputs ;; esac
  places=cuda:0x$devices
  [ "$devices" = 1 ] || [ "$cards" -lt "$devices" ] || places="$places cuda:0-$((devices - 1))"
  for place in $places; do
    check "${plan%.*} on $place" $before "$here/bin/epl-run" "$here/plans/$plan" --devices "$place" --inputs "$inputs" \
      --reference "$here/plans/$answers" --steps 3 --rtol "$tolerance" --atol "$tolerance"
  done
done < "$here/plans/list.txt"
rm -f "$here/output.txt"
echo "$passed right, $failed wrong"
[ "$failed" = 0 ]
