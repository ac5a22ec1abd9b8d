# Steps of a script that measures, for `source`; $out is where logs and JSON files go, $PYTHON chooses the interpreter.
python=${PYTHON:-python3}
failed=0

step() { # step NAME SECONDS COMMAND ...: run it with a time limit, keep what it prints, and say how it ended
    local name=$1 limit=$2 begin=$SECONDS ended
    shift 2
    timeout "$limit" "$@" >"$out/$name.log" 2>&1
    ended=$?
    [ $ended -eq 0 ] || failed=1
    printf '%-20s %4d s  exit %3d  %s\n' "$name" $((SECONDS - begin)) $ended "$(tail -n 1 "$out/$name.log" | cut -c1-100)"
}

measure() { # measure NAME SECONDS MODULE ARGUMENT ...
    local name=$1 limit=$2 module=$3
    shift 3
    step "$name" "$limit" "$python" -m "benchmarks.$module" "$@" --out "$out/$name.json"
}
