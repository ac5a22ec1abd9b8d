"""The compiler's library is loaded while other threads go on."""

from __future__ import annotations

import os
import subprocess
import sys

from support.cuda.emulator import needs_compiler

SLOW = """
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
// The library is loaded when a file is there, which another thread makes; it tells whether it was, within 20 s.
__attribute__((constructor)) static void wait() {
    std::filesystem::path folder(std::getenv("FOLDER"));
    std::ofstream(folder / "begun").put('1');
    for (int k = 0; k < 2000 && !std::filesystem::exists(folder / "go"); ++k)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ofstream(folder / (std::filesystem::exists(folder / "go") ? "seen" : "missed")).put('1');
}
"""

LOAD = """
import pathlib, sys, threading, time
from qsim_ex.kernels.cuda.compile.compiler_library import load_ahead
folder = pathlib.Path(sys.argv[1])
sys.path.append(str(folder))
thread = threading.Thread(target=load_ahead, args=(13,))
thread.start()
while not (folder / "begun").exists() and thread.is_alive():
    time.sleep(0.001)
(folder / "go").touch()
thread.join()
"""


def test_other_threads_run_while_it_is_loaded(tmp_path):
    """A library whose loading waits for what another thread does is loaded when that is done."""
    needs_compiler()
    target = tmp_path / "nvidia/cu13/lib/libnvrtc.so.13"
    target.parent.mkdir(parents=True)
    (tmp_path / "slow.cpp").write_text(SLOW)
    command = ["g++", "-std=c++17", "-fPIC", "-shared", str(tmp_path / "slow.cpp"), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run([sys.executable, "-c", LOAD, str(tmp_path)], check=True, env=os.environ | {"FOLDER": str(tmp_path)})
    assert (tmp_path / "seen").exists()


def test_what_is_not_there_is_left_to_others():
    """A version of CUDA that is not installed is no error here: CuPy tells of it."""
    code = "from qsim_ex.kernels.cuda.compile.compiler_library import load_ahead; load_ahead(99); print('done')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")
