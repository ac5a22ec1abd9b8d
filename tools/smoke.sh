#!/usr/bin/env bash
# Try a wheel where users install it: tools/smoke.py in a fresh environment of every Python from 3.11 on that this
# machine has, or of a Python that Debian has, for this processor or in an emulator of another.
#
#   tools/smoke.sh dist/*x86_64.whl             # every Python of this machine
#   tools/smoke.sh dist/*x86_64.whl 3.14 sid    # Python 3.14 of Debian's sid; needs Debian's apt-get
#   tools/smoke.sh dist/*aarch64.whl            # Python 3.11 of bookworm, emulated; 3.14 sid as above
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp tools/smoke.py "$scratch"  # away from the checkout, whose packages must not be found

on_this_machine() {
    local python found=0
    for python in python3.11 python3.12 python3.13 python3.14; do
        "$python" -c 'import venv, ensurepip' 2>/dev/null || { echo "$python: not on this machine"; continue; }
        "$python" -m venv "$scratch/$python"
        "$scratch/$python/bin/pip" install --quiet "$wheel"
        (cd "$scratch" && "$python/bin/python" smoke.py)
        found=1
    done
    ((found)) || { echo "there is no Python from 3.11 on"; exit 1; }
}

# unpacked MACHINE VERSION SUITE: a userland with a Python, unpacked and not installed, so that this one stays as it is.
unpacked() {
    local machine=$1 version=$2 suite=$3 root="$scratch/root" apt="$scratch/apt" debian=amd64 platforms=() each
    [[ "$machine" == aarch64 ]] && debian=arm64
    mkdir -p "$apt"/{lists,archives}/partial "$root"
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/sources"
    local options=(-qq -o "Dir::Etc::SourceList=$apt/sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State=$apt"
        -o "Dir::State::Status=$apt/status" -o "Dir::Cache=$apt" -o "APT::Architecture=$debian"
        -o "APT::Architectures=$debian" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    apt-get "${options[@]}" install --yes --download-only --no-install-recommends "python$version" libstdc++6 >/dev/null
    for each in "$apt"/archives/*.deb; do dpkg -x "$each" "$root"; done
    [[ -e "$root/lib" ]] || ln -s usr/lib "$root/lib"

    for each in 2014 _2_17 _2_27 _2_28; do platforms+=(--platform "manylinux${each}_$machine"); done
    "${PYTHON:-python3}" -m pip download --quiet --dest "$scratch/wheels" --python-version "$version" \
        --only-binary=:all: "${platforms[@]}" "$wheel"
    for each in "$scratch"/wheels/*.whl; do "${PYTHON:-python3}" -m zipfile --extract "$each" "$scratch/site"; done

    local run=("$(find "$root" -name 'ld-linux*' | head -n 1)" --library-path
        "$root/lib/$machine-linux-gnu:$root/usr/lib/$machine-linux-gnu")
    if [[ "$machine" != "$(uname -m)" ]]; then
        command -v "qemu-$machine-static" >/dev/null || { apt-get update -qq && apt-get install -y -qq qemu-user-static; }
        run=("qemu-$machine-static" -L "$root")
    fi
    python() { PYTHONHOME="$root/usr" PYTHONPATH="$scratch/site" "${run[@]}" "$root/usr/bin/python$version" "$@"; }
    cd "$scratch"
    for each in $(python -c 'from qsim_ex.native import library; print(*library.instruction_sets())'); do
        QSIM_EX_INSTRUCTION_SET="$each" python smoke.py
        echo "Python $(python -c 'import platform; print(platform.python_version())') of $suite, $machine, $each: passed"
    done
}

case "$wheel" in
    *aarch64.whl) unpacked aarch64 "${2:-3.11}" "${3:-bookworm}" ;;
    *) if (($# > 1)); then unpacked x86_64 "$2" "$3"; else on_this_machine; fi ;;
esac
