// The numbers that sweeps read from memory, made where they are read: each is a number of the circuit, a constant, or
// part of an entry of a table, which is the product of some of the table's phases.
//
// words: first a word for each number to be made, then a record for each entry of a table. A word's two lowest bits say
// what it is: 0 a number of `given`, 1 and 2 the real and the imaginary part of an entry, 3 a constant (0, 1, -1); its
// other bits where that is. A record: the first of the table's factors, how many there are, and a mask of those that
// belong to the entry, 32 to a word. Threads of one table read the same factors at the same time.

template <class Given>
__device__ __forceinline__ double made(const Given given, const unsigned* words, const unsigned word)
{
    const unsigned kind = word & 3, at = word >> 2;
    if (kind == 0) return given[at];
    if (kind == 3) return at == 2 ? -1.0 : (double)at;
    const unsigned* record = words + at;
    unsigned factor = 2 * record[0];
    double x = 1, y = 0;
    for (unsigned left = record[1]; left;) {
        const unsigned mask = *(++record + 1), here = left < 32 ? left : 32;
        for (unsigned k = 0; k < here; ++k, factor += 2) {
            if (!(mask >> k & 1)) continue;
            const double c = given[factor], s = given[factor + 1], old = x;
            x = x * c - y * s;
            y = old * s + y * c;
        }
        left -= here;
    }
    return kind == 1 ? x : y;
}
