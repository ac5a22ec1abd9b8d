#!/usr/bin/env bash
# Measure the tables of README.md and docs/explained/benchmarks.md again, and print README's rows.
#
#   benchmarks/pages.sh FOLDER PART ...
#
# Parts: cpu, cpu_long (16 cores or more), cpu_16 (32 cores), batches, gpu (one GPU), gpus (all GPUs). Each step writes a log and a JSON file
# into FOLDER; a line says how it ended and how long it took. On the CPU several rows are measured at the same time, each
# bound to cores of its own: those with even numbers, since neighbours may be two threads of one core. qsim-ex is what is
# installed. ONLY names the steps that are measured, if not all, COMMIT what is measured where there is no git, LIMIT the
# seconds after which no step goes on, GPU what files of this card begin with; cuStateVec is found as in gpu.sh, and PYTHON
# chooses the interpreter.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:?expected a folder for logs and results as the first argument}")
shift
mkdir -p "$out"
source benchmarks/steps.sh
gpu=${GPU:-h100}
limit=${LIMIT:-3600}
commit=(--commit "${COMMIT:-$(git describe --always --dirty --abbrev=10)}")

within() { # within NAME SECONDS MODULE ARGUMENT ...: measure it, if there is time for some of it
    local name=$1 seconds=$2 left=$((limit - SECONDS))
    shift 2
    [[ -z ${ONLY:-} || " $ONLY " == *" $name "* ]] || return 0
    [ $left -ge 20 ] || { echo "$name: no time left" && failed=1 && return; }
    measure "$name" $((seconds < left ? seconds : left)) "$@" "${commit[@]}"
}

on() { # on CORES COMMAND ...: what it starts runs on these cores, with a thread for each
    local cores=$1 count
    shift
    count=$(echo "$cores" | tr ',' '\n' | wc -l)
    taskset -cp "$cores" $BASHPID >/dev/null
    export OMP_NUM_THREADS=$count
    "$@"
}

first_runs() {
    within cpu_first 300 first --first
    within cpu_first_processes 400 first --new --processes 3
    within cpu_latency 60 latency --families
}
noise_12() {
    within cpu_noise_12 300 noise --threads 2 --n 12 --no-singles
}
noise_16() { # 1,000 trajectories take Aer minutes
    local kind
    for kind in depolarizing damping; do
        within "cpu_noise_16_$kind" 520 noise --threads 2 --n 16 --rows $kind --no-singles --no-branching --aer-trajectories 25 100
    done
}
two_threads() {
    within cpu_many 120 many --threads 2 --rows engine "engine from angles" qiskit "qiskit counts" "cirq samples" "cirq states"
    within cpu_single_2_threads 240 run cpu --threads 2 --n 20 22 24 --repeat 3 --peers ours qsim
}
sixteen_threads() {
    within cpu_16_threads 400 run cpu --threads 16 --n 20 22 24 26 28 --repeat 3 --peers ours qsim
}
one_thread_long() {
    within cpu_single_20 400 run cpu --threads 1 --n 20
    within cpu_single_22 520 run cpu --threads 1 --n 22
    within cpu_double 300 run cpu --threads 1 --n 20 22 --repeat 3 --precision double --peers ours lightning
}

for part in "$@"; do
    case $part in
        cpu)
            on 0,2 first_runs &
            on 4,6 noise_12 &
            on 8 within cpu_single_24 300 run cpu --threads 1 --n 24 --repeat 3 --peers ours qsim &
            on 12,14 two_threads &
            wait
            ;;
        cpu_long)
            on 10 one_thread_long &
            on 12,14 noise_16 &
            on 4,6 within cpu_middle 1200 middle --threads 2 --aer-shots 5 15 &
            wait
            ;;
        cpu_16)
            on "$(seq -s, 0 2 30)" sixteen_threads
            ;;
        batches)
            within "${gpu}_many" 200 many --device gpu --threads 16
            within "${gpu}_noise" 240 noise --device gpu --n 12 20 --threads 2
            within "${gpu}_batched" 60 batched
            ;;
        gpu)
            within "${gpu}_first" 280 first_gpu --n 20 24 28 30 --peer
            within "${gpu}_single" 160 run gpu --n 10 16 20 24 28 30 --warmup 3
            within "${gpu}_host_29" 140 run gpu --n 30 --device-wires 29 --repeat 3
            within "${gpu}_double" 60 run gpu --n 28 --warmup 3 --precision double
            within "${gpu}_first_double" 100 first_gpu --n 28 --precision double --peer
            within "${gpu}_single_32" 120 run gpu --n 32 --repeat 3
            within "${gpu}_host_28" 120 run gpu --n 30 --device-wires 28 --repeat 3
            within "${gpu}_host_27" 120 run gpu --n 30 --device-wires 27 --repeat 3
            within "${gpu}_peak" 80 peak
            within "${gpu}_cold" 300 cold gpu --n 20 24 28 30 --peers ours # as pip leaves a checkout: see gpu.sh
            ;;
        gpus)
            count=$(nvidia-smi --list-gpus | wc -l)
            within "${gpu}x$count" 100 run gpu --n 30 --gpus "$count" --warmup 3
            within "${gpu}x2" 100 run gpu --n 30 --gpus 2 --warmup 3
            ;;
        *) echo "there is no part '$part'; see the head of this file" && exit 2 ;;
    esac
done
"$python" -m benchmarks.readme "$out" || failed=1
exit $failed
