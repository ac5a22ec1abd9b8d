#!/usr/bin/env bash
# Measure the tables of README.md and docs/explained/benchmarks.md again, and print README's rows.
#
#   benchmarks/pages.sh FOLDER PART ...
#
# Parts: cpu (16 cores or more, and a GPU for batches on one), gpu (one GPU), gpus (all GPUs). Each step writes a log and a
# JSON file into FOLDER; a line says how it ended and how long it took. On the CPU five rows are measured at the same time,
# each bound to cores of its own: those with even numbers, since neighbours may be two threads of one core. qsim-ex is
# what is installed. COMMIT names what is measured where there is no git, LIMIT the seconds after which no step goes on,
# GPU what files of this card begin with; cuStateVec is found as in gpu.sh, and PYTHON chooses the interpreter.
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
    within cpu_first 240 first --processes 3
    within cpu_latency 60 latency --families
    within cpu_many 90 many --threads 2 --rows engine "engine from angles" qiskit "qiskit counts" "cirq samples" "cirq states"
    within cpu_noise_12 240 noise --threads 2 --n 12 --no-singles
    within cpu_single_2_threads 120 run cpu --threads 2 --n 20 22 24 --repeat 3 --peers ours qsim
}
noise_16() {
    within cpu_noise_16 480 noise --threads 2 --n 16 --no-singles --no-branching --aer-trajectories 25 100
}
one_thread_24() {
    within cpu_single_24 480 run cpu --threads 1 --n 24 --repeat 2 --peers ours qsim aer
}
one_thread() {
    within cpu_single 480 run cpu --threads 1 --n 20 22 --repeat 5
    within cpu_double 120 run cpu --threads 1 --n 20 22 --repeat 3 --precision double --peers ours lightning
}
middle() {
    within cpu_middle 520 middle --threads 2 --repeat 1 --aer-shots 5 15
}
gpu_noise() {
    within "${gpu}_noise" 240 noise --device gpu --n 12 20 --threads 2
}

for part in "$@"; do
    case $part in
        cpu)
            within "${gpu}_many" 200 many --device gpu --threads 16
            on 0,2 first_runs &
            on 4,6 noise_16 &
            (on 8,9 gpu_noise; on 8 one_thread_24) &
            on 10 one_thread &
            on 12,14 middle &
            wait
            ;;
        gpu)
            within "${gpu}_first" 280 first_gpu --n 20 24 28 30 --peer
            within "${gpu}_single" 160 run gpu --n 10 16 20 24 28 30 --warmup 3
            within "${gpu}_host_29" 140 run gpu --n 30 --device-wires 29 --repeat 3
            within "${gpu}_first_double" 100 first_gpu --n 28 --precision double --peer
            within "${gpu}_double" 60 run gpu --n 28 --warmup 3 --precision double
            within "${gpu}_single_32" 120 run gpu --n 32 --repeat 3
            within "${gpu}_batched" 60 batched
            within "${gpu}_host_28" 120 run gpu --n 30 --device-wires 28 --repeat 3
            within "${gpu}_host_27" 120 run gpu --n 30 --device-wires 27 --repeat 3
            within "${gpu}_fresh" 80 fresh_gpu
            within "${gpu}_shots" 30 shots gpu
            within "${gpu}_peak" 80 peak
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
