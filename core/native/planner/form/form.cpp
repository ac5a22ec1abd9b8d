// The form of a circuit.

#include "planner/form/form.hpp"

#include <algorithm>
#include <cmath>

#include "thresholds/table.hpp"

namespace qx::form {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr int most_rounds = 16;
constexpr int widest_permutation = 5;  // that is looked at

std::uint64_t mixed_in(std::uint64_t key, std::uint64_t more) { return plan::mixed(key ^ more) + 0x9e3779b97f4a7c15ull; }

}  // namespace

Form::Form(std::unique_ptr<plan::Reader> reader, const Complex* operands, Int samples, Int stride, int wires,
           double tolerance, Int most, bool zeros, bool only_read)
    : reader_(std::move(reader)), operands_(operands), samples_(static_cast<std::size_t>(samples)),
      stride_(static_cast<std::size_t>(stride)), tolerance_(tolerance), rounding_(Rounding::of(tolerance, 0)), most_(most),
      only_read_(only_read), frame_(wires), layers_(new Layers(frame_, rounding_, true)), on_zeros_(zeros) {
    if (zeros) key = mixed_in(key, zeros);
}

Form::Form(const Form& read, Int most)
    : key(read.key), num_phases(read.num_phases), inputs(read.inputs), shares(read.shares),
      read_in_order(read.read_in_order), read_phase(read.read_phase), extents_(read.extents_), tolerance_(read.tolerance_),
      rounding_(Rounding::of(tolerance_, 0)), most_(most), only_read_(false), state_(State::add),
      frame_(read.frame_.tableau.wires()), layers_(new Layers(frame_, rounding_, true)), on_zeros_(read.on_zeros_) {
    frame_.sums = read.frame_.sums, frame_.phase = read_phase;
}

bool Form::read() {
    row_ = mixes_ = reads_ = 0;
    state_ = State::add;
    return reader_->next(circuit_, context_);
}

Form::State Form::advance() {
    if (state_ == State::again) {
        add_again();
        return state_;
    }
    for (int k = 0; state_ == State::add && k < thresholds.instructions_at_once; ++k) {
        if (reader_ ? row_ == circuit_.rows.size() : instruction_ == extents_.size()) {
            state_ = reader_ && !reader_->done() ? State::read : only_read_ ? State::done : State::again;
            if (state_ == State::read) break;
            read_phase = frame_.phase, rounding_ = rounding();
            break;
        }
        rounding_.grow();
        if (reader_) add_row();
        else add_again(extents_[instruction_]);
        ++instruction_;
        if (state_ == State::add && is_too_dense(2 * most_)) state_ = State::too_many;  // some merge with later ones
    }
    if (state_ == State::again && is_too_dense(most_)) state_ = State::too_many;
    return state_;
}

// Adds the next instruction of the part that was read last.
void Form::add_row() {
    const plan::Circuit::Row& row = circuit_.rows[row_++];
    if (!add({&row, circuit_.mixes.data() + mixes_, circuit_.reads.data() + reads_}) && state_ == State::add)
        state_ = State::refused;
    Mask read = row.when.mask;  // a parity of several wires joins these
    if (row.type != plan::Circuit::permutation)
        for (std::uint32_t k = 0; k < row.num_reads; ++k) read |= circuit_.reads[reads_ + k];
    const bool joins = static_cast<int>(row.num_mixes) + count(read) > 1;
    joins_ += joins;
    mixes_ += row.num_mixes, reads_ += row.num_reads;
    if (only_read_) extents_.push_back({static_cast<Index>(read_in_order.size()), joins});
}

// Adds an instruction that was read before.
void Form::add_again(const Extent& extent) {
    for (; again_ < extent.end; ++again_) add_read(read_in_order[again_]);
    joins_ += extent.joins;
}

// Tells whether there are more rotations than there may be by now. A circuit that is dense on two wires has five for each
// instruction on these, in most bases, and so it is given up after a few.
bool Form::is_too_dense(Int most) const {
    if (most_ < 0) return false;
    if (only_read_) return static_cast<Int>(read_in_order.size()) > most;
    const Int items = static_cast<Int>(layers_->num_items());
    const Int ahead = (items - 2 * joins_ + frame_.tableau.wires() - 1) / std::max(1, frame_.tableau.wires());
    return blocked_ || items > most || (items > 2 * joins_ && ahead > thresholds.rotations_ahead);
}

bool Form::add(const Instruction& of) {
    if (of.row->type == plan::Circuit::initialize) return false;
    if (of.row->type == plan::Circuit::permutation) return add_permutation(of), true;
    const Operation operation{of.row->num_mixes, static_cast<int>(of.row->num_reads), count(of.row->when.mask),
                              [&] {
                                  Mask out = 0;
                                  int place = 0;
                                  each(of.row->when.mask,
                                       [&](int wire) { out |= (of.row->when.value >> wire & 1) << place++; });
                                  return out;
                              }(),
                              operands_ + of.row->operand};
    if (of.row->unitary && varies(of)) return add_varying(of, operation);
    const Product* found = of.row->unitary ? product(of, operation) : nullptr;
    if (found) add_rotations(of, *found);
    else if (!only_read_ || !add_under(of)) add_block(of);
    return true;
}

// Tells whether the numbers of an instruction differ among bindings.
bool Form::varies(const Instruction& of) const {
    const std::size_t size = std::size_t{1} << (of.row->num_reads + 2 * of.row->num_mixes);
    const Complex* first = operands_ + of.row->operand;
    for (std::size_t k = 1; k < samples_; ++k)
        if (!std::equal(first, first + size, first + k * stride_)) return true;
    return false;
}

// Adds an instruction whose numbers differ; returns whether it is rotations by sums of phases.
bool Form::add_varying(const Instruction& of, const Operation& operation) {
    std::vector<Operation> bindings(samples_, operation);
    for (std::size_t k = 0; k < samples_; ++k) bindings[k].entries += k * stride_;
    if (!find_varying(bindings, rounding_.most(), varying_)) return state_ = State::varies, false;
    rounding_.spend(varying_.off);
    const auto angle = [&](const VaryingRotation& one) {
        Angle out{one.angle};
        for (const Multiple& of : one.multiples)
            out = frame_.sums.plus(out, frame_.sums.multiple(num_phases + of.phase, of.by));
        return out;
    };
    frame_.add_phase(angle(varying_.phase));
    for (const VaryingRotation& one : varying_.rotations) add_rotation(of, one.pauli, angle(one));
    const auto place = [&](Index entry) {
        return entry == Share::none ? entry : static_cast<Index>(of.row->operand) + entry;
    };
    for (const Input& one : varying_.inputs) inputs.push_back({num_phases + one.phase, place(one.entry), one.by});
    for (const Share& one : varying_.shares) {
        const Index phase = one.phase == Share::none ? one.phase : num_phases + one.phase;
        shares.push_back({place(one.entry), phase, one.conjugate, one.by});
    }
    num_phases += varying_.num_phases;
    return true;
}

// Returns the rotations that an instruction is a product of, null if none were found.
const Product* Form::product(const Instruction& of, const Operation& operation) {
    constexpr int most = 15;
    const bool kept = operation.mixes <= most && operation.reads <= most && operation.controls <= most;
    if (!kept || !is_literal(of.row->pattern)) {
        if (!find_product(operation, rounding_.most(), made_)) return nullptr;
        rounding_.spend(made_.off);
        return &made_;
    }
    const std::uint64_t shape = static_cast<std::uint64_t>(operation.mixes | operation.reads << 4 | operation.controls << 8);
    Index& known = known_[of.row->pattern | (shape | operation.values << 12) << 32];
    if (known == Memo::none) {
        known = static_cast<Index>(products_.size());
        products_.emplace_back();
        if (!find_product(operation, tolerance_, products_.back())) products_.back().phase = NAN;
    }
    return std::isnan(products_[known].phase) ? nullptr : &products_[known];
}

// Tells whether a pattern says what all its numbers are.
bool Form::is_literal(Index pattern) {
    Index& known = literal_[pattern];
    if (known == Memo::none) {
        known = 1;
        for (const char entry : context_.patterns[pattern])
            if (entry == plan::real || entry == plan::imag || entry == plan::complex_) known = 0;
    }
    return known;
}

void Form::add_permutation(const Instruction& of) {
    const int wires = of.row->num_mixes;
    if (wires > widest_permutation) return add_block(of);
    const std::size_t size = std::size_t{1} << wires;
    std::vector<Complex> entries(size * size);
    for (std::size_t column = 0; column < size; ++column) entries[of.reads[column] * size + column] = 1;
    if (!find_product({wires, 0, 0, 0, entries.data()}, tolerance_, made_)) return add_block(of);
    add_rotations(of, made_);
}

void Form::add_rotations(const Instruction& of, const Product& product) {
    frame_.add_phase({product.phase});
    for (const LocalRotation& one : product.rotations) add_rotation(of, one.pauli, {one.angle});
}

// Adds a rotation about a string on the arguments of an instruction.
void Form::add_rotation(const Instruction& of, const LocalPauli& about, const Angle& angle) {
    Mask read[16];
    std::size_t place = 0;
    if (of.row->type == plan::Circuit::op)
        for (; place < of.row->num_reads; ++place) read[place] = of.reads[place];
    each(of.row->when.mask, [&](int wire) { read[place++] = unit(wire); });
    Pauli on;
    each(about.x, [&](int wire) { on.x |= unit(of.mixes[wire]); });
    each(about.z, [&](int wire) { on.z |= unit(of.mixes[wire]); });
    each(about.reads, [&](int number) { on.z ^= read[number]; });
    if (!blocked_) read_in_order.push_back({on, angle});
    if (!only_read_) add_read({on, angle});
}

// Adds a rotation behind all that was read before it.
void Form::add_read(const ReadRotation& rotation) {
    const auto& [on, angle, under] = rotation;
    Angle left = angle;
    if (!angle.varies()) {
        const SplitAngle split = rounding_.split(angle.value);
        frame_.turn(on, split.quarters);
        if (split.rest == 0) return;
        left.value = split.rest;
    }
    const SignedPauli image = frame_.tableau.image(on);
    layers_->add(image.pauli, image.negative ? -left : left);
}

// Adds a matrix of one wire under conditions, or a phase; returns whether an instruction is one.
bool Form::add_under(const Instruction& of) {
    const plan::Circuit::Row& row = *of.row;
    if (row.type != plan::Circuit::op || !row.unitary || row.num_mixes + row.num_reads > 1 || count(row.when.mask) < 2)
        return false;
    const Complex* entries = operands_ + row.operand;
    ReadUnder out{row.when.mask, row.when.value, 0, {1, 0, 0, 1}};
    if (row.num_mixes) {
        out.wire = of.mixes[0];
        std::copy_n(entries, 4, out.matrix.begin());
    } else if (row.num_reads) {
        if (count(of.reads[0]) > 1) return false;
        out.wire = lowest(of.reads[0]), out.matrix[0] = entries[0], out.matrix[3] = entries[1];
    } else {
        out.wire = lowest(out.conditions), out.conditions &= ~unit(out.wire), out.values &= out.conditions;
        out.matrix[row.when.value >> out.wire & 1 ? 3 : 0] = entries[0];
    }
    read_in_order.push_back({{}, {}, static_cast<Index>(read_under.size())});
    read_under.push_back(out);
    return true;
}

void Form::add_block(const Instruction& of) {
    blocked_ = true;
    read_in_order = {};
    if (only_read_) return void(state_ = State::too_many);
    std::vector<SignedPauli> images;
    const auto add = [&](const Pauli& of) { images.push_back(frame_.tableau.image(of)); };
    for (int k = 0; k < of.row->num_mixes; ++k) add({unit(of.mixes[k]), 0});
    for (int k = 0; k < of.row->num_mixes; ++k) add({0, unit(of.mixes[k])});
    if (of.row->type == plan::Circuit::op)
        for (std::size_t k = 0; k < of.row->num_reads; ++k) add({0, of.reads[k]});
    each(of.row->when.mask, [&](int wire) { add({0, unit(wire)}); });
    layers_->add_block(images, instruction_);
}

// Adds all items in the order of their layers again, some at a time: what has merged, or is about other axes, may let others
// merge. In the end nothing changes any more, so that layers are as they have to be. Behind |0…0⟩ that begins anew, with
// strings that matter less.
void Form::add_again() {
    if (!before_) {
        before_ = std::move(layers_);
        layers_ = std::make_unique<Layers>(frame_, rounding_, axes_);
        frame_.passed.emplace(frame_.tableau.wires());
        layer_ = 0, ++rounds_;
        if (zeros_) zeros_.emplace(frame_.tableau.wires());
    }
    for (Int left = thresholds.instructions_at_once; left > 0 && layer_ < before_->size(); ++layer_)
        for (const bool flips : {false, true})  // those that flip nothing leave all products as they are
            for (const Index number : before_->layer(layer_)) {
                const Item& item = before_->item(number);
                if ((item.is_block() || item.pauli.x) != flips) continue;
                --left;
                add_again(item);
            }
    if (layer_ < before_->size()) return;
    before_.reset();
    const bool settled = (!axes_ && !layers_->changes()) || rounds_ == most_rounds;
    if (settled && (zeros_ || !on_zeros_)) return finish();
    if (settled) zeros_.emplace(frame_.tableau.wires()), rounds_ = 0;
    axes_ = axes_ && layers_->num_items() < size_;
    size_ = layers_->num_items();
}

// Adds an item of the list before.
void Form::add_again(const Item& item) {
    if (item.is_block()) {
        std::vector<SignedPauli> images(before_->generators(item), before_->generators(item) + item.count);
        for (SignedPauli& one : images) {
            const bool negative = one.negative;
            one = frame_.passed->image(one.pauli);
            one.negative ^= negative;
            if (zeros_) zeros_->flip(one.pauli.x);
        }
        return layers_->add_block(images, item.instruction);
    }
    SignedPauli image = frame_.passed->image(item.pauli);
    if (zeros_ && !add_on_zeros(image, item.angle)) return;
    layers_->add(image.pauli, image.negative ? -item.angle : item.angle);
}

// Replaces a string by one that is the same behind |0…0⟩; returns false if its rotation is a phase there, and was added.
bool Form::add_on_zeros(SignedPauli& string, const Angle& angle) {
    zeros_->flip(string.pauli.x);
    const SignedPauli same = zeros_->same(string.pauli);
    string = {same.pauli, same.negative != string.negative};
    if (!string.pauli.is_identity()) return true;
    const double by = string.negative ? 0.5 : -0.5;
    Angle phase{by * angle.value};
    std::vector<std::pair<Index, double>> multiples;
    frame_.sums.each(angle, [&](Index of, double multiple) { multiples.emplace_back(of, by * multiple); });
    for (const auto& [of, multiple] : multiples) phase = frame_.sums.plus(phase, frame_.sums.multiple(of, multiple));
    frame_.add_phase(phase);
    return false;
}

void Form::finish() {
    layers_->sort();
    for (std::size_t layer = 0; layer < layers_->size(); ++layer) {
        key = mixed_in(key, layer);
        for (const Index number : layers_->layer(layer)) {
            const Item& item = layers_->item(number);
            if (!item.is_block()) {
                const bool eighth = !item.angle.varies() && std::fabs(std::fabs(item.angle.value) - pi / 4) <= tolerance_;
                rotations.push_back({item.pauli, item.angle, layer});
                key = mixed_in(mixed_in(mixed_in(key, item.pauli.x), item.pauli.z), eighth);
                continue;
            }
            blocks.push_back({item.instruction, generators.size(), item.count, layer});
            for (Index k = 0; k < item.count; ++k) {
                generators.push_back(layers_->generators(item)[k]);
                key = mixed_in(mixed_in(key, generators.back().pauli.x), generators.back().pauli.z);
            }
        }
    }
    layers_.reset();
    phase = frame_.phase;
    phase.value = std::remainder(phase.value + frame_.first_phase() * (pi / 4), 2 * pi);
    state_ = State::done;
}

}  // namespace qx::form
