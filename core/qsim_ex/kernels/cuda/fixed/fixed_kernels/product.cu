// Products of complex matrices in row-major order, by tiles of 64 × 64 in registers: a thread has 4 × 4 of them.
// `right` is a matrix [inner, columns], or, for GRAM, `left` again, so that left · left† comes out. Blocks that share a
// tile have different parts of the inner dimension; each adds to a result of its own, and the caller adds these up.

#define SIDE 64   // rows and columns of a tile
#define DEPTH 16  // of the inner dimension, in shared memory at a time

template <class T, bool GRAM>
__device__ __forceinline__ void multiply(
    const T* left, const T* right, T* out, const u64 rows, const u64 inner, const u64 columns, const u64 share)
{
    __shared__ T near_left[DEPTH][SIDE + 1], near_right[DEPTH][SIDE + 1];
    const unsigned t = threadIdx.x, low = t % 16, high = t / 16;
    const u64 tiles = (rows + SIDE - 1) / SIDE, across = (columns + SIDE - 1) / SIDE;
    const u64 row = blockIdx.x % tiles * SIDE, column = blockIdx.x / tiles % across * SIDE;
    const u64 part = blockIdx.x / tiles / across;
    const u64 end = (part + 1) * share < inner ? (part + 1) * share : inner;
    T sum[4][4], next_left[4], next_right[4];
#pragma unroll
    for (int a = 0; a < 4; ++a) {
#pragma unroll
        for (int b = 0; b < 4; ++b) sum[a][b].x = sum[a][b].y = 0;
    }
    for (u64 depth = part * share; depth < end + DEPTH; depth += DEPTH) {
        // What comes next is loaded while this is multiplied; the first time there is nothing to multiply yet.
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            const unsigned r = high + 16 * a;
            next_left[a].x = next_left[a].y = next_right[a].x = next_right[a].y = 0;
            if (depth + low < end && row + r < rows) next_left[a] = left[(row + r) * inner + depth + low];
            if (GRAM) {
                if (depth + low < end && column + r < columns) next_right[a] = left[(column + r) * inner + depth + low];
                next_right[a].y = -next_right[a].y;
            } else {
                const unsigned k = t / SIDE + 4 * a, c = t % SIDE;
                if (depth + k < end && column + c < columns) next_right[a] = right[(depth + k) * columns + column + c];
            }
        }
        if (depth != part * share) {
#pragma unroll
            for (int k = 0; k < DEPTH; ++k) {
                T l[4], r[4];
#pragma unroll
                for (int a = 0; a < 4; ++a) {
                    l[a] = near_left[k][high + 16 * a];
                    r[a] = near_right[k][low + 16 * a];
                }
#pragma unroll
                for (int a = 0; a < 4; ++a) {
#pragma unroll
                    for (int b = 0; b < 4; ++b) {
                        sum[a][b].x += l[a].x * r[b].x;  // one term at a time, each a fused multiply-add
                        sum[a][b].x -= l[a].y * r[b].y;
                        sum[a][b].y += l[a].x * r[b].y;
                        sum[a][b].y += l[a].y * r[b].x;
                    }
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            near_left[low][high + 16 * a] = next_left[a];
            if (GRAM) near_right[low][high + 16 * a] = next_right[a];
            else near_right[t / SIDE + 4 * a][t % SIDE] = next_right[a];
        }
        __syncthreads();
    }
#pragma unroll
    for (int a = 0; a < 4; ++a) {
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            const u64 r = row + high + 16 * a, c = column + low + 16 * b;
            if (r >= rows || c >= columns) continue;
            T& to = out[(part * rows + r) * columns + c];
            to.x = (GRAM ? to.x : 0) + sum[a][b].x;
            to.y = (GRAM ? to.y : 0) + sum[a][b].y;
        }
    }
}

// out = left · right
extern "C" __global__ void __launch_bounds__(256) product(
    const amp* left, const amp* right, amp* out, const u64 rows, const u64 inner, const u64 columns)
{
    multiply<amp, false>(left, right, out, rows, inner, columns, inner);
}

// out += left · left†, in parts
extern "C" __global__ void __launch_bounds__(256) gram(
    const double2* left, double2* out, const u64 rows, const u64 inner, const u64 share)
{
    multiply<double2, true>(left, left, out, rows, inner, rows, share);
}

// The same for at most 16 rows: a thread has one entry, and where there are fewer than 256 several threads share it.
extern "C" __global__ void __launch_bounds__(256) gram_small(
    const double2* left, double2* out, const unsigned rows, const u64 inner, const u64 share)
{
    __shared__ double2 near[16][SIDE + 1], sums[256];
    const unsigned t = threadIdx.x, entries = rows * rows;
    const unsigned entry = t % entries, mine = t / entries, sharers = 256 / entries;
    const unsigned row = entry / rows, column = entry % rows;
    const u64 end = (blockIdx.x + 1) * share < inner ? (blockIdx.x + 1) * share : inner;
    double2 sum = {0, 0};
    for (u64 depth = blockIdx.x * share; depth < end; depth += SIDE) {
        for (unsigned k = t; k < rows * SIDE; k += 256) {
            double2 value = {0, 0};
            if (depth + k % SIDE < end) value = left[k / SIDE * inner + depth + k % SIDE];
            near[k / SIDE][k % SIDE] = value;
        }
        __syncthreads();
        for (unsigned k = mine; k < SIDE; k += sharers) {
            const double2 a = near[row][k], b = near[column][k];
            sum.x += a.x * b.x + a.y * b.y;
            sum.y += a.y * b.x - a.x * b.y;
        }
        __syncthreads();
    }
    sums[t] = sum;
    __syncthreads();
    if (t >= entries) return;
    for (unsigned k = 1; k < sharers; ++k) {
        sum.x += sums[t + k * entries].x;
        sum.y += sums[t + k * entries].y;
    }
    out[blockIdx.x * entries + t].x += sum.x;
    out[blockIdx.x * entries + t].y += sum.y;
}
