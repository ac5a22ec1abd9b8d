// A block's threads take turns: each runs until its next barrier. The order can be reversed, so that a missing
// barrier shows whichever way the race goes.
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
ucontext_t scheduler, fiber[MOST];
bool done[MOST];
char* stacks;
unsigned current;
void (*entry)(void*);
void* closure;
void start() {
    entry(closure);
    done[current] = true;
    swapcontext(&fiber[current], &scheduler);
}
}  // namespace

extern "C" void __syncthreads() { swapcontext(&fiber[current], &scheduler); }

extern "C" void emulate(unsigned grid, unsigned block, int backwards, void (*body)(void*), void* with) {
    if (block > MOST) abort();
    if (!stacks) stacks = (char*)malloc(MOST * STACK);
    entry = body;
    closure = with;
    gridDim = {grid, 1, 1};
    blockDim = {block, 1, 1};
    for (unsigned b = 0; b < grid; ++b) {
        blockIdx = {b, 0, 0};
        for (unsigned t = 0; t < block; ++t) {
            getcontext(&fiber[t]);
            fiber[t].uc_stack.ss_sp = stacks + t * STACK;
            fiber[t].uc_stack.ss_size = STACK;
            fiber[t].uc_link = nullptr;
            makecontext(&fiber[t], start, 0);
            done[t] = false;
        }
        for (unsigned left = block; left;) {
            unsigned before = left;
            for (unsigned k = 0; k < block; ++k) {
                unsigned t = backwards ? block - 1 - k : k;
                if (done[t]) continue;
                current = t;
                threadIdx = {t, 0, 0};
                swapcontext(&scheduler, &fiber[t]);
                left -= done[t];
            }
            if (left && left != before) {
                fprintf(stderr, "some threads ended while others wait at a barrier\n");
                abort();
            }
        }
    }
}
