#!/usr/bin/env bash
# Try wheels where users install them: tools/smoke.py in a fresh environment of every Python from 3.11 on that this
# machine has, and for aarch64 in an emulated one.
#
#   tools/smoke.sh dist/*-manylinux_2_17_x86_64.whl
#   tools/smoke.sh dist/*-manylinux_2_17_aarch64.whl    # needs Debian's apt-get and qemu-aarch64-static
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

emulated() { # a Debian userland for arm64 with its Python 3.11, unpacked and not installed
    command -v qemu-aarch64-static >/dev/null || { apt-get update -qq && apt-get install -y -qq qemu-user-static; }
    dpkg --add-architecture arm64
    apt-get update -qq
    local packages=(libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libssl3 libbz2-1.0 liblzma5 libuuid1 libcrypt1
        libpython3.11-minimal libpython3.11-stdlib python3.11-minimal)
    (cd "$scratch" && apt-get download -qq -o APT::Sandbox::User=root "${packages[@]/%/:arm64}" && for file in *.deb; do dpkg -x "$file" root; done)
    "${PYTHON:-python3}" -m pip download --quiet --dest "$scratch/wheels" --python-version 3.11 --only-binary=:all: \
        --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux_2_27_aarch64 \
        --platform manylinux_2_28_aarch64 "$wheel"
    for file in "$scratch"/wheels/*.whl; do "${PYTHON:-python3}" -m zipfile --extract "$file" "$scratch/site"; done
    cat >"$scratch/python" <<END
#!/bin/sh
exec qemu-aarch64-static -L "$scratch/root" -E PYTHONHOME="$scratch/root/usr" -E PYTHONPATH="$scratch/site" \\
    "$scratch/root/usr/bin/python3.11" "\$@"
END
    chmod +x "$scratch/python"
    (cd "$scratch" && ./python -c 'import os; os.environ["QSIM_EX_INSTRUCTION_SET"] = "neon"; import smoke; smoke.check()')
    echo "Python 3.11, aarch64 (emulated), neon: passed"
}

case "$wheel" in
    *aarch64.whl) emulated ;;
    *) on_this_machine ;;
esac
