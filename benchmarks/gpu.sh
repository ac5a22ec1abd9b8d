#!/usr/bin/env bash
# What a machine with GPUs has to show, in one go: tests, compute-sanitizer, measurements.
#
#   benchmarks/gpu.sh FOLDER [PART ...]
#
# Parts: tests, sanitize, batches, single, cold, migrated (one GPU), peers (all GPUs); the first three if none is named.
# Each step writes a log, and a JSON file where it measures, into FOLDER; a line says how it ended and how long it took.
# cuStateVec is measured beside ours where QSIM_EX_CUSTATEVEC names its folder. PYTHON chooses the interpreter.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:?expected a folder for logs and results as the first argument}")
shift
parts=("${@:-}")
[ -n "${parts[0]}" ] || parts=(tests sanitize batches)
mkdir -p "$out"
export PYTHONPATH="core:.:tests${PYTHONPATH:+:$PYTHONPATH}"
source benchmarks/steps.sh

pytests() { # pytests NAME SECONDS ARGUMENT ...
    local name=$1 limit=$2
    shift 2
    step "$name" "$limit" "$python" -m pytest -q -m gpu -p no:cacheprovider "$@"
}

large=(tests/contract/test_large.py tests/devices/gpu/test_large.py)
for part in "${parts[@]}"; do
    case $part in
        tests)
            pytests tests 400 -n 12 tests --ignore "${large[0]}" --ignore "${large[1]}"
            pytests tests_large 120 "${large[@]}"
            ;;
        sanitize)
            step memcheck 300 compute-sanitizer --tool memcheck --error-exitcode 9 "$python" tests/devices/sanitize.py
            step racecheck 300 compute-sanitizer --tool racecheck --error-exitcode 9 "$python" tests/devices/sanitize.py
            ;;
        batches)
            measure batched 200 batched
            measure many 200 many --device gpu
            measure noise 200 noise --device gpu --n 12 20
            ;;
        single)
            measure single 500 run gpu --n 10 16 20 24 28 30
            measure double 300 run gpu --n 28 30 --precision double
            measure peak 100 peak
            measure sweeps 200 sweeps --families brick qv grid --variants base gates moves
            ;;
        cold)
            # As pip leaves it; else every process compiles our Python and the kernels of first runs.
            "$python" -m compileall -q core benchmarks
            "$python" tools/ship_kernels.py
            measure cold 300 cold gpu --n 20 24 28 30 --peers ours
            ;;
        migrated)
            measure host_5_wires 300 run gpu --n 30 --device-wires 25 --peers ours --repeat 3
            measure links 200 links --n 30 --device-wires 29 28 27
            ;;
        peers)
            gpus=$(nvidia-smi --list-gpus | wc -l)
            pytests tests_peers 400 tests/placement tests/devices/test_copy_queues.py tests/contract/test_deployments.py \
                tests/state/test_sub_states.py
            measure "gpus_$gpus" 200 run gpu --n 30 --gpus "$gpus" --peers ours --warmup 3
            measure "gpus_${gpus}_host" 200 run gpu --n 30 --gpus "$gpus" --device-wires 26 --peers ours --warmup 3
            ;;
        *) echo "there is no part '$part'; see the head of this file" && exit 2 ;;
    esac
done
exit $failed
