// Sweeps of adjoint differentiation: a state and some cotangents pass a sweep together, tile by tile, and while they are in
// the cache the derivatives with respect to the sweep's numbers are added up (decision 0061).
//
// The sweep is unitary, so what undoes it on the state undoes it on the cotangents, too. Before an instruction the state is
// x, and behind it a cotangent is l: the derivative with respect to a coefficient c of y = C x is the sum of l x over all
// places that c multiplies. Sums over the tiles of a chunk are added up in double precision; chunks do not depend on
// threads.

#include "base/export.hpp"
#include "base/pool.hpp"
#include "kernels/flush.hpp"
#include "kernels/gradients/collect.hpp"
#include "kernels/sweep.hpp"

namespace qx::QX_SET {
namespace {

// Calls `visit(coefficient, number, sign)` for each coefficient that is a number and no constant: `expand`, backwards. A
// number is the place of a real or imaginary part among all.
template <class Real, class Visit>
void each_number(const Program& program, const Fill& fill, const Visit& visit) {
    constexpr int n = lanes<Real>;
    const Int* columns = program.integers + fill.lane_columns;
    Int selects[n] = {};
    for (int bit = 0; bit < lane_bits<Real>; ++bit)
        for (int lane = 0; lane < 1 << bit; ++lane) selects[lane | 1 << bit] = selects[lane] ^ columns[bit];
    const std::int32_t* codes = program.codes + fill.from;
    Int to = fill.to;
    for (Int k = 0, block = 0; k < fill.blocks; ++k, block = ((block | ~Int{fill.kept}) + 1) & fill.kept) {
        for (Int entry = 0; entry < fill.entries; ++entry) {
            for (int lane = 0; lane < (fill.splat ? 1 : n); ++lane, ++to) {
                if (!fill.splat && (lane & fill.lane_mask) != fill.lane_value) continue;
                Int code = codes[(fill.splat ? block : block ^ selects[lane]) * fill.entries + entry];
                if (code >= 0) visit(to, 2 * fill.slot + (code >> 1), code & 1 ? -1.0 : 1.0);
            }
        }
    }
}

// A call of Python's: a sweep on `rows` states, with `cotangents` of them for each. numbers: [number_rows, number_count], as
// in sweep.cpp. wanted: whether an instruction's numbers depend on parameters. parts: of the tiles of a state, each of which
// has sums of its own: sums [rows, parts, cotangents, number_count]. high: the value of the index bits outside of the
// states.
struct Call {
    const Program& program;
    char* states;
    char* cotangents;
    Int rows;
    Int count;
    const double* numbers;
    Int number_rows;
    Int number_count;
    const unsigned char* wanted;
    Int parts;
    double* sums;
    Int high;
};

// Takes a state and its cotangents through a sweep. Its memory is that of an interpreter, and behind it a tile for each
// cotangent, the coefficients, and for each cotangent the sums of one tile and those of all.
template <class Real>
class Adjoint : public Interpreter<Real> {
    using Base = Interpreter<Real>;
    using Base::geometry, Base::index, Base::program, Base::space;

  public:
    static std::size_t bytes(const Program& program, Int count) {
        std::size_t row_bits = static_cast<std::size_t>(program.geometry->row_bits);
        std::size_t tiles = static_cast<std::size_t>(count) * (Rows<Real>::bytes << row_bits);
        std::size_t numbers = static_cast<std::size_t>(program.coefficients);
        return Workspace<Real>::bytes(program.geometry->row_bits) + tiles +
               numbers * (sizeof(Real) + static_cast<std::size_t>(count) * (sizeof(Real) + sizeof(double)));
    }

    Adjoint(const Program& program, char* memory, Int count)
        : Base(program, memory, 0), count_(count), state_(space.tile),
          tiles_(memory + Workspace<Real>::bytes(geometry.row_bits)), tile_bytes_(Rows<Real>::bytes << geometry.row_bits) {
        sums_ = reinterpret_cast<double*>(tiles_ + count * tile_bytes_);
        coefficients_ = reinterpret_cast<Real*>(sums_ + count * program.coefficients);
        of_tile_ = coefficients_ + program.coefficients;
    }

    // Runs tiles `first` to `last` - 1 of a state and of its cotangents, which follow each other in memory. high: as of
    // `Call`.
    void run(char* state, char* cotangents, const double* numbers, const unsigned char* wanted, Int first, Int last,
             Int high) {
        expand<Real>(program, numbers, coefficients_);
        const Int size = count_ * program.coefficients, bytes = Int{2 * sizeof(Real)} << geometry.num_bits;
        for (Int k = 0; k < size; ++k) sums_[k] = 0;
        const Int outside = ((Int{1} << geometry.num_bits) - 1) & ~geometry.tile_mask;
        Int place = placed(first, outside);
        for (Int tile = first; tile < last; ++tile, place = ((place | ~outside) + 1) & outside) {
            index = place | high << geometry.num_bits;
            const Int from = place ^ this->moved(place, geometry.load_base),
                      to = place ^ this->moved(index, geometry.store_base);
            for (Int k = -1; k < count_; ++k) load(k, k < 0 ? state : cotangents + k * bytes, from);
            for (Int k = 0; k < size; ++k) of_tile_[k] = 0;
            for (Int k = 0; k < program.num_instructions; ++k) step(program.instructions[k], wanted[k] != 0);
            for (Int k = 0; k < size; ++k) sums_[k] += static_cast<double>(of_tile_[k]);
            for (Int k = -1; k < count_; ++k) store(k, k < 0 ? state : cotangents + k * bytes, to);
        }
    }

    // Writes the derivatives with respect to all numbers: out [cotangents, count of numbers].
    void write(double* out, Int number_count) const {
        for (Int k = 0; k < count_ * number_count; ++k) out[k] = 0;
        for (Int f = 0; f < program.num_fills; ++f) {
            each_number<Real>(program, program.fills[f], [&](Int coefficient, Int number, double sign) {
                for (Int k = 0; k < count_; ++k)
                    out[k * number_count + number] += sign * sums_[k * program.coefficients + coefficient];
            });
        }
    }

  private:
    Int count_;
    char *state_, *tiles_;
    Int tile_bytes_;
    double* sums_;
    Real *coefficients_, *of_tile_;

    // Chooses the tile of cotangent `k`; that of the state for -1.
    void on(Int k) { space.tile = k < 0 ? state_ : tiles_ + k * tile_bytes_; }

    void load(Int k, const char* from, Int place) {
        on(k);
        if (geometry.load_direct) this->load_rows(from, place, false);
        else this->load_lanes(from, place);
    }

    void store(Int k, char* to, Int place) {
        on(k);
        if (geometry.store_direct) this->store_rows(to, place);
        else this->store_lanes(to, place);
    }

    void step(const Instruction& it, bool wanted) {
        if (!this->acts(it)) return;
        const bool pair = it.kind == Kind::PAIR_COMPLEX;
        if (pair || it.kind == Kind::SCALE_COMPLEX) {
            if (it.reads) this->select(it, it.block * Int{sizeof(Real)});
            for (Int k = 0; k < count_; ++k) pass(it, pair, k, wanted);
            return;
        }
        for (Int k = 0; k < count_; ++k) {
            on(k);
            this->run_instruction(it, coefficients_);
            if (wanted) collect_of(it, space.tile, of_tile_ + k * program.coefficients);
        }
        on(-1);
        this->run_instruction(it, coefficients_);
    }

    // Passes the frequent instructions on cotangent `k`, and with the last one on the state.
    void pass(const Instruction& it, bool pair, Int k, bool wanted) {
        const bool last = k == count_ - 1;
        const Collected<Real> of = collected(it, tiles_ + k * tile_bytes_, of_tile_ + k * program.coefficients);
        const char* table = reinterpret_cast<const char*>(coefficients_ + it.table);
        if (pair) return pass_complex<Real, 2, true>(of, it.offsets, table, wanted, last);
        if (it.per_lane) return pass_complex<Real, 1, true>(of, it.offsets, table, wanted, last);
        return pass_complex<Real, 1, false>(of, it.offsets, table, wanted, last);
    }

    Collected<Real> collected(const Instruction& it, char* cotangent, Real* sums) {
        const Int* steps = it.steps < 0 ? nullptr : program.integers + it.steps;
        const char* first = reinterpret_cast<const char*>(sums + it.table);
        return {{state_, steps, it.free, it.fixed ^ this->origin(it.origin), it.count},
                cotangent,
                {first, it.reads ? space.low : nullptr, space.high}};
    }

    // Adds to the sums of an instruction that has run on a cotangent and not yet on the state.
    void collect_of(const Instruction& it, char* cotangent, Real* sums) {
        const Collected<Real> of = collected(it, cotangent, sums);
        const Half* offsets = it.offsets;
        switch (it.kind) {
            case Kind::QUAD_COMPLEX: return collect_complex<Real, 4>(of, offsets);
            case Kind::QUAD_REAL: {
                collect_real<Real, 4, 1>(of, offsets);
                Collected<Real> second = of;
                second.sums.at += 16 * sizeof(Vector<Real>);
                return collect_real<Real, 4, 1>(second, offsets + 4);
            }
            case Kind::PAIR_REAL: return collect_real<Real, 2, 2>(of, offsets);
            case Kind::SCALE_REAL:
                if (it.per_lane) return collect_scale<Real, true>(of);
                return collect_scale<Real, false>(of);
            case Kind::DENSE: {
                const Int* listed = program.integers + it.offsets[0];
                if (it.per_lane) return collect_dense<Real, true>(of, listed, it.size);
                return collect_dense<Real, false>(of, listed, it.size);
            }
            case Kind::PAIR_COMPLEX:
            case Kind::SCALE_COMPLEX:  // see `pass`
            case Kind::EXCHANGE:
            case Kind::LANES: return;
        }
    }
};

template <class Real>
Int run(const Call& call, Int first_chunk, Int threads, Int microseconds) {
    const Program& program = call.program;
    const Geometry& geometry = *program.geometry;
    const Int tiles = Int{1} << (geometry.num_bits - __builtin_popcountll(geometry.tile_mask));
    const Int bytes = Int{2 * sizeof(Real)} << geometry.num_bits, chunks = call.rows * call.parts;
    const std::size_t each = Adjoint<Real>::bytes(program, call.count);
    Int next = share({first_chunk, chunks, threads, microseconds, each}, [&](Int chunk) {
        FlushSubnormals flushing;
        const Int row = chunk / call.parts, part = chunk % call.parts;
        Adjoint<Real> adjoint(program, scratch(each), call.count);
        const double* numbers = call.numbers + (call.number_rows > 1 ? row * call.number_count : 0);
        adjoint.run(call.states + row * bytes, call.cotangents + row * call.count * bytes, numbers, call.wanted,
                    tiles * part / call.parts, tiles * (part + 1) / call.parts, call.high);
        adjoint.write(call.sums + chunk * call.count * call.number_count, call.number_count);
    });
    return next < chunks ? next : 0;
}

// Says for each instruction whether one of its numbers is wanted. A table of coefficients is that of one instruction at
// least.
template <class Real>
void find_wanted(const Program& program, const unsigned char* numbers, unsigned char* out) {
    for (Int k = 0; k < program.num_instructions; ++k) {
        out[k] = 0;
        const Instruction& it = program.instructions[k];
        if (it.kind == Kind::EXCHANGE || it.kind == Kind::LANES) continue;
        Int f = 0;  // the fill behind the instruction's: tables are in the order of fills
        for (Int above = program.num_fills; f < above;) {
            const Int middle = (f + above) / 2;
            if (program.fills[middle].to <= it.table) f = middle + 1;
            else above = middle;
        }
        if (f == 0) continue;
        each_number<Real>(program, program.fills[f - 1], [&](Int, Int number, double) { out[k] |= numbers[number / 2]; });
    }
}

}  // namespace
}  // namespace qx::QX_SET

// Runs a sweep on states and their cotangents from a chunk on, 0 at first, for about so many microseconds; returns the chunk
// to go on with, 0 if done, or `refused` before anything is changed.
QX_EXPORT_SET(run_adjoint,
              (const qx::Program* program, qx::Int single, char* states, char* cotangents, qx::Int rows, qx::Int count,
               const double* numbers, qx::Int number_rows, qx::Int number_count, const void* wanted, qx::Int parts,
               double* sums, qx::Int high, qx::Int first, qx::Int threads, qx::Int microseconds)) {
    const qx::QX_SET::Call call{*program,    states,       cotangents,
                                rows,        count,        numbers,
                                number_rows, number_count, static_cast<const unsigned char*>(wanted),
                                parts,       sums,         high};
    if (single) return qx::QX_SET::run<float>(call, first, threads, microseconds);
    return qx::QX_SET::run<double>(call, first, threads, microseconds);
}

// Writes for each instruction of a sweep whether one of its numbers is among those that are wanted.
QX_EXPORT_SET(adjoint_wanted, (const qx::Program* program, qx::Int single, const void* numbers, void* out)) {
    const auto* known = static_cast<const unsigned char*>(numbers);
    auto* found = static_cast<unsigned char*>(out);
    if (single) qx::QX_SET::find_wanted<float>(*program, known, found);
    else qx::QX_SET::find_wanted<double>(*program, known, found);
    return 0;
}
