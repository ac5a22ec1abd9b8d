// The matrix of a channel that a random number chooses in a state.
#pragma once

#include "kernels/trajectories/narrow_states.hpp"
#include "kernels/trajectories/trajectories.hpp"

namespace qx::trajectories {
namespace {

using narrow::Complexes;
using narrow::LANES;
using narrow::State;
using narrow::Vector;

// Writes the probability of each matrix of a channel in a state, as Kraus.populated and Kraus.dense do.
void probabilities(const State& state, const Int* bits, Int wires, const Channel& channel, const Numbers& numbers,
                   double* p) {
    const Int size = Int{1} << wires;
    Int places[narrow::MOST_SIZE] = {};
    for (Int v = 0; v < size; ++v)
        for (Int k = 0; k < wires; ++k) places[v] |= v >> k & 1 ? bits[k] : 0;
    for (Int k = 0; k < channel.count; ++k) p[k] = 0;
    double norm = 0;
    if (channel.diagonal) {
        Vector populations[narrow::MOST_SIZE] = {};  // for each value of the wires above the lanes, in its place
        const Int lanes = places[size - 1] & (LANES - 1), above = places[size - 1] & ~(LANES - 1);
        for (Int k = 0; k < state.vectors(); ++k) {
            const Complexes x = state.at(k);
            Int v = 0;
            for (Int j = 0; j < wires; ++j) v |= (k * LANES & bits[j]) ? Int{1} << j : 0;
            populations[v] += x.re * x.re + x.im * x.im;
        }
        for (Int v = 0; v < size; ++v) {
            const Int in_lanes = places[v] & lanes;
            Int high = 0;  // the same value with 0 for the wires in the lanes
            for (Int j = 0; j < wires; ++j) high |= bits[j] & above ? v & Int{1} << j : 0;
            double population = 0;
            for (Int lane = 0; lane < LANES; ++lane)
                population += (lane & lanes) == in_lanes ? populations[high][lane] : 0.0;
            norm += population;
            for (Int k = 0; k < channel.count; ++k) p[k] += numbers.gains()[k * size + v] * population;
        }
    } else {
        for (Int v = 0; v < size; ++v)
            for (Int w = 0; w < size; ++w) {
                double real = 0, imag = 0;  // Σ conj(a_v) a_w
                for (Int base = 0; base < state.size; ++base) {
                    if (base & places[size - 1]) continue;
                    const double a = state.re[base | places[v]], b = state.im[base | places[v]];
                    const double c = state.re[base | places[w]], d = state.im[base | places[w]];
                    real += a * c + b * d;
                    imag += a * d - b * c;
                }
                norm += v == w ? real : 0.0;
                for (Int k = 0; k < channel.count; ++k) {
                    const double* gram = numbers.grams() + 2 * ((k * size + v) * size + w);
                    p[k] += gram[0] * real - gram[1] * imag;
                }
            }
    }
    for (Int k = 0; k < channel.count; ++k) p[k] /= norm;
}

// Returns the matrix that a random number chooses; p: the probability of each, unless the channel is mixed.
Int chosen(const Channel& channel, const Numbers& numbers, double u, const double* p) {
    const Int count = channel.count;
    const double target = u * numbers.factor();
    Int found = 0;
    while (found < count && numbers.ends()[found] <= target) ++found;
    if (found < count || channel.mixed)  // rounding never leads beyond the last matrix
        return static_cast<Int>(numbers.order()[least(found, count - 1)]);
    const double sure = numbers.ends()[count - 1];
    double total = 0, running = 0;
    for (Int k = 0; k < count; ++k) total += most(p[k] - numbers.least()[k], 0);
    const double reached = least((u - sure) / most(1 - sure, 1e-300) * total, std::nextafter(total, -1.0));
    Int number = 0;
    for (Int k = 0; k < count; ++k) {
        running += most(p[k] - numbers.least()[k], 0);
        number += running <= reached;
    }
    return number;
}

}  // namespace
}  // namespace qx::trajectories
