// An operation whose numbers differ from binding to binding.

#include "planner/form/gates/varying.hpp"

#include <algorithm>
#include <cmath>

#include "planner/form/gates/blocks.hpp"
#include "thresholds/table.hpp"

namespace qx::form {

namespace {

using Entries = std::vector<Complex>;

// An eigenvalue: a number, or e^{iφ} of a phase or its conjugate.
struct Eigenvalue {
    Complex number;
    Index phase = Share::none;
    bool conjugate = false;
};

class VaryingFinder {
  public:
    VaryingFinder(const std::vector<Operation>& samples, double tolerance, VaryingProduct& out)
        : samples_(samples), tolerance_(tolerance), out_(out) {}

    bool find() {
        out_ = {};
        for (const Operation& one : samples_) of_.emplace_back(one);
        number_entries();
        read();
        if (of_[0].selectors.size() > thresholds.selectors || !find_axes()) return false;
        find_eigenvalues();
        if (!is_basis()) return false;
        name_phases();
        write_shares();
        if (to_axis_) turn(axis_.inverse());
        write_rotations();
        if (to_axis_) turn(axis_);
        return true;
    }

  private:
    static std::size_t at(auto number) { return static_cast<std::size_t>(number); }
    std::size_t size() const { return of_[0].size(); }
    std::size_t number() const { return of_[0].number(); }
    // Tells whether a number is none, and notes what is left out so.
    bool none(double size) {
        if (!(size <= tolerance_)) return false;
        out_.off = std::max(out_.off, size);
        return true;
    }

    // Numbers the entries in blocks, which are moved as the entries are: place k is 2 + k, the identity has 0 and 1.
    void number_entries() {
        const Operation& first = samples_[0];
        num_entries_ = std::size_t{1} << (first.reads + 2 * first.mixes);
        Entries numbers(num_entries_);
        for (std::size_t k = 0; k < num_entries_; ++k) numbers[k] = static_cast<double>(k + 2);
        places_ = Blocks({first.mixes, first.reads, first.controls, first.values, numbers.data()});
    }
    // Lets wires that no matrix mixes be selectors.
    void read() {
        for (std::size_t wire = 0; wire < of_[0].mixed.size();) {
            double left_out = 0;
            const bool mixed = std::any_of(of_.begin(), of_.end(), [&](const Blocks& one) {
                return one.mixes(wire, tolerance_, left_out) || !none(left_out);
            });
            if (mixed) {
                ++wire;
                continue;
            }
            for (Blocks& one : of_) one.read(wire);
            places_.read(wire);
        }
    }

    // Finds strings that commute with all matrices: the axis of turns of one wire; XX and ZZ of two.
    bool find_axes() {
        const std::vector<int>& mixed = of_[0].mixed;
        strings_ = of_[0].selectors;
        if (mixed.size() > 2) return false;
        if (mixed.size() == 1) find_axis(mixed[0]);
        for (std::size_t k = 0; mixed.size() == 2 && k < 2; ++k) {
            const int axis = k ? 2 : 0;
            LocalPauli both = on_wire(mixed[0], axis);
            multiply(both, on_wire(mixed[1], axis));
            strings_.push_back(both);
        }
        make_projectors();
        return true;
    }
    // The axis of the turn that is farthest from the identity; the others will be found to have it, or not.
    void find_axis(int wire) {
        double most = 0;
        n_ = {0, 0, 1};
        for (const Blocks& one : of_)
            for (std::size_t which = 0; which < number(); ++which) {
                double phase = 0;
                const auto v = Turn::of(one.matrix(which), phase).v;
                const double length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
                if (length > most) most = length, n_ = {v[0] / length, v[1] / length, v[2] / length};
            }
        int axis = 2;
        to_axis_ = true;
        for (int k = 0; k < 3 && to_axis_; ++k) {
            const double one = n_[at(k + 1) % 3], other = n_[at(k + 2) % 3];
            if (!none(most * std::hypot(one, other))) continue;
            to_axis_ = false, axis = k;
            n_ = {}, n_[at(k)] = 1;
        }
        if (to_axis_)
            axis_ = Turn::about(2, std::atan2(n_[1], n_[0])) * Turn::about(1, std::atan2(std::hypot(n_[0], n_[1]), n_[2]));
        strings_.push_back(on_wire(wire, axis));
    }

    // What projects on each eigenspace, by the signs of the strings that are no selectors.
    void make_projectors() {
        const std::size_t d = size();
        projectors_.assign(d, Entries(d * d));
        for (std::size_t k = 0; k < d; ++k) {
            Entries& to = projectors_[k];
            const double sign = k & 1 ? -1 : 1, second = k & 2 ? -1 : 1;
            if (d == 1) to[0] = 1;
            if (d == 2)
                to = {0.5 * (1 + sign * n_[2]), 0.5 * sign * Complex(n_[0], -n_[1]), 0.5 * sign * Complex(n_[0], n_[1]),
                      0.5 * (1 - sign * n_[2])};
            for (std::size_t row = 0; d == 4 && row < 4; ++row) {  // (1 ± XX)(1 ± ZZ)/4
                const double zz = row == 0 || row == 3 ? 1 : -1, there = 0.25 * (1 + second * zz);
                to[row * 4 + row] = there, to[row * 4 + 3 - row] = sign * there;
            }
        }
    }

    std::size_t num_eigenvalues() const { return number() * size(); }
    const Entries& projector(std::size_t k) const { return projectors_[k / number()]; }

    void find_eigenvalues() {
        const std::size_t d = size();
        for (const Blocks& one : of_) {
            found_.emplace_back(num_eigenvalues());
            for (std::size_t k = 0; k < num_eigenvalues(); ++k) {
                Complex& sum = found_.back()[k];
                const Complex* matrix = one.matrix(k % number());
                for (std::size_t j = 0; j < d * d; ++j) sum += projector(k)[j % d * d + j / d] * matrix[j];
                sum /= std::abs(sum);
            }
        }
    }
    // Tells whether all matrices are what their eigenvalues make of them.
    bool is_basis() {
        const std::size_t d = size();
        for (std::size_t s = 0; s < of_.size(); ++s)
            for (std::size_t which = 0; which < number(); ++which)
                for (std::size_t j = 0; j < d * d; ++j) {
                    Complex sum = 0;
                    for (std::size_t k = which; k < num_eigenvalues(); k += number()) sum += found_[s][k] * projector(k)[j];
                    if (!none(std::abs(sum - of_[s].matrix(which)[j]))) return false;
                }
        return true;
    }

    // What eigenvalues have in common with earlier ones, or with themselves.
    void name_phases() {
        const auto always = [&](const auto& difference) {
            return std::all_of(found_.begin(), found_.end(),
                               [&](const Entries& one) { return none(std::abs(difference(one))); });
        };
        for (std::size_t k = 0; k < num_eigenvalues(); ++k) {
            const Complex first = found_[0][k];
            Eigenvalue own{first};
            bool known = always([&](const Entries& one) { return one[k] - first; });
            for (std::size_t j = 0; j < k && !known; ++j) {
                const Eigenvalue& other = eigenvalues_[j];
                if (other.phase == Share::none) continue;
                const bool equal = always([&](const Entries& one) { return one[k] - one[j]; });
                known = equal || always([&](const Entries& one) { return one[k] - std::conj(one[j]); });
                if (known) own = {0, other.phase, other.conjugate == equal};
            }
            if (!known) {
                own = {0, out_.num_phases++};
                write_inputs(k, own.phase);
            }
            eigenvalues_.push_back(own);
        }
    }
    // The place of an entry of a matrix among those of the operation, `none` for the identity's.
    Index place(std::size_t which, std::size_t j) const {
        const double number = places_.matrix(which)[j].real();
        return number < 2 ? Share::none : static_cast<Index>(number - 2);
    }
    void write_inputs(std::size_t k, Index phase) {
        const std::size_t d = size();
        for (std::size_t j = 0; j < d * d; ++j) {
            const Complex by = projector(k)[j % d * d + j / d];
            if (by != 0.0) out_.inputs.push_back({phase, place(k % number(), j), by});
        }
    }
    void write_shares() {
        std::vector<std::vector<Share>> by_entry(num_entries_);
        const std::size_t d = size();
        for (std::size_t which = 0; which < number(); ++which)
            for (std::size_t j = 0; j < d * d; ++j) {
                const Index entry = place(which, j);
                if (entry == Share::none) continue;
                Complex constant = 0;
                for (std::size_t k = which; k < num_eigenvalues(); k += number()) {
                    const Eigenvalue& own = eigenvalues_[k];
                    const Complex by = projector(k)[j];
                    if (own.phase == Share::none) constant += own.number * by;
                    else if (by != 0.0) by_entry[at(entry)].push_back({entry, own.phase, own.conjugate, by});
                }
                by_entry[at(entry)].insert(by_entry[at(entry)].begin(), {entry, Share::none, false, constant});
            }
        for (std::size_t k = 0; k < num_entries_; ++k) {  // what was read has no entries beside the diagonal
            if (by_entry[k].empty()) by_entry[k].push_back({static_cast<Index>(k), Share::none, false, 0});
            out_.shares.insert(out_.shares.end(), by_entry[k].begin(), by_entry[k].end());
        }
    }

    void turn(const Turn& by) {
        std::vector<LocalRotation> found;
        out_.off += add_turn(by, of_[0].mixed[0], tolerance_, found);
        for (const LocalRotation& one : found) out_.rotations.push_back({one.pauli, one.angle, {}});
    }
    // The Walsh transform of the phases, each as a number and a multiple of each phase that varies.
    void write_rotations() {
        const std::size_t width = 1 + at(out_.num_phases), count = num_eigenvalues();
        std::vector<double> by(count * width);
        for (std::size_t k = 0; k < count; ++k) {
            const Eigenvalue& own = eigenvalues_[k];
            if (own.phase == Share::none) by[k * width] = std::arg(own.number);
            else by[k * width + 1 + at(own.phase)] = own.conjugate ? -1 : 1;
        }
        for (std::size_t bit = 1; bit < count; bit *= 2)
            for (std::size_t k = 0; k < count * width; ++k)
                if (!(k / width & bit)) {
                    const double a = by[k], b = by[k + bit * width];
                    by[k] = (a + b) / 2, by[k + bit * width] = (a - b) / 2;
                }
        for (std::size_t which = 0; which < count; ++which) {
            LocalPauli product;
            bool negative = false;
            for (std::size_t k = 0; k < strings_.size(); ++k)
                if (which >> k & 1) negative ^= multiply(product, strings_[k]);
            const double factor = which == 0 ? 1 : negative ? 2 : -2;
            VaryingRotation one{product, factor * by[which * width], {}};
            for (Index k = 0; k < out_.num_phases; ++k)
                if (const double found = by[which * width + 1 + at(k)]; found != 0)
                    one.multiples.push_back({k, factor * found});
            if (which == 0) out_.phase = std::move(one);
            else if (!one.multiples.empty() || !none(std::fabs(one.angle))) out_.rotations.push_back(std::move(one));
        }
    }

    const std::vector<Operation>& samples_;
    double tolerance_;
    VaryingProduct& out_;
    std::vector<Blocks> of_;  // for each sample
    Blocks places_;
    std::size_t num_entries_ = 0;
    std::vector<LocalPauli> strings_;  // of which each eigenspace has signs
    std::array<double, 3> n_{};        // the axis of one wire
    Turn axis_;                        // turns Z into it
    bool to_axis_ = false;             // since it is none of X, Y and Z
    std::vector<Entries> projectors_, found_;  // found: eigenvalues of each sample, of the first projector first
    std::vector<Eigenvalue> eigenvalues_;
};

}  // namespace

bool find_varying(const std::vector<Operation>& samples, double tolerance, VaryingProduct& out) {
    const Operation& first = samples[0];
    constexpr int most_mixed = 3;
    if (first.reads + first.controls > thresholds.selectors || first.mixes > most_mixed) return false;
    return VaryingFinder(samples, tolerance, out).find();
}

}  // namespace qx::form
