// A block's threads take turns: each runs until its next barrier. The order can be reversed, so that a missing
// barrier shows whichever way the race goes. Turns are jumps: a switch of contexts would call the system each time.
#undef _FORTIFY_SOURCE  // it takes a jump to another stack for a mistake
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

struct dim3 { unsigned x, y, z; };
extern "C" {
dim3 threadIdx, blockIdx, blockDim, gridDim;
}
namespace {
constexpr unsigned MOST = 1024;
constexpr size_t STACK = 1 << 16;
jmp_buf scheduler, fiber[MOST];
bool begun[MOST], done[MOST];
char* stacks;
unsigned current;
void (*entry)(void*);
void* closure;
void start() {
    for (;;) {  // a fiber is a thread of every later block too
        entry(closure);
        done[current] = true;
        if (!_setjmp(fiber[current])) _longjmp(scheduler, 1);
    }
}
void turn() {  // of the current thread, until its next barrier or its end
    if (_setjmp(scheduler)) return;
    if (begun[current]) _longjmp(fiber[current], 1);
    begun[current] = true;
    static ucontext_t first;
    getcontext(&first);
    first.uc_stack.ss_sp = stacks + current * STACK;
    first.uc_stack.ss_size = STACK;
    first.uc_link = nullptr;
    makecontext(&first, start, 0);
    setcontext(&first);
}
}  // namespace

extern "C" void __syncthreads() {
    if (!_setjmp(fiber[current])) _longjmp(scheduler, 1);
}

extern "C" void emulate(unsigned grid, unsigned block, int backwards, void (*body)(void*), void* with) {
    if (block > MOST) abort();
    if (!stacks) stacks = (char*)malloc(MOST * STACK);
    entry = body;
    closure = with;
    gridDim = {grid, 1, 1};
    blockDim = {block, 1, 1};
    for (unsigned b = 0; b < grid; ++b) {
        blockIdx = {b, 0, 0};
        for (unsigned t = 0; t < block; ++t) done[t] = false;
        for (unsigned left = block; left;) {
            unsigned before = left;
            for (unsigned k = 0; k < block; ++k) {
                unsigned t = backwards ? block - 1 - k : k;
                if (done[t]) continue;
                current = t;
                threadIdx = {t, 0, 0};
                turn();
                left -= done[t];
            }
            if (left && left != before) {
                fprintf(stderr, "some threads ended while others wait at a barrier\n");
                abort();
            }
        }
    }
}
