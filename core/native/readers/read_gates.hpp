// Gates as they are read from a framework's circuit: each has a key, and parameters.
#pragma once

#include "base/interned.hpp"
#include "base/refusal.hpp"

namespace qx {

// A key is the number of a row in the lowest 8 bits, and in 14 bits for each wire its number and 1.
constexpr plan::Index most_wires = (1 << 14) - 1;
constexpr Int most_wires_of_a_gate = 4;

inline std::uint64_t on_wire(plan::Index wire, Int place) {
    return static_cast<std::uint64_t>(wire + 1) << (8 + 14 * place);
}

inline bool is_finite(double value) { return value - value == 0; }

// Where gates go, as qsim_ex.frameworks.read_gates hands it over. numbers: of each instruction which key it has. keys: each
// once. starts [count + 1]: where the parameters of each begin. others: the places of the instructions without a row;
// other_wires: of these keys with wires alone, 0 where these are none, or too many for a key.
// measured: of each measurement of one wire its place, its wire and its classical bit; the wire of a barrier is -1.
struct Arrays {
    plan::Index* numbers;
    std::uint64_t* keys;
    double* parameters;
    Int* starts;
    Int* others;
    std::uint64_t* other_wires;
    Int (*measured)[3];
    Int num_keys, num_others, num_measured;
};

// Writes instructions, one after the other.
class GateWriter {
  public:
    explicit GateWriter(Arrays& out) : out_(out) {
        out_.num_keys = out_.num_others = out_.num_measured = out_.starts[0] = 0;
    }

    void gate(std::uint64_t key) {
        plan::Index& number = known_[key];
        if (number == plan::Memo::none) {
            number = static_cast<plan::Index>(out_.num_keys);
            out_.keys[out_.num_keys++] = key;
        }
        end(number);
    }
    void other(std::uint64_t wires) {
        out_.other_wires[out_.num_others] = wires;
        out_.others[out_.num_others++] = at_;
        end(~plan::Index{0});
    }
    void measurement(Int wire, Int clbit) {
        Int* to = out_.measured[out_.num_measured++];
        to[0] = at_, to[1] = wire, to[2] = clbit;
        end(~plan::Index{0});
    }
    // A parameter of the gate that comes next.
    void parameter(double value) { out_.parameters[parameters_++] = value; }

  private:
    void end(plan::Index number) {
        out_.numbers[at_] = number;
        out_.starts[++at_] = parameters_;
    }

    Arrays& out_;
    plan::Memo known_;
    Int at_ = 0, parameters_ = 0;
};

}  // namespace qx
