// Forms as Python calls for them; qsim_ex/planning/form.py says what the integers mean.

#include "base/export.hpp"
#include "base/owned.hpp"
#include "planner/form/form.hpp"

namespace {

using qx::Owned;
using qx::form::Form;

// Takes a step; returns what `form_advance` does.
qx::Int advanced(Form& made) {
    switch (made.advance()) {
        case Form::State::done: return 0;
        case Form::State::read: return 2;
        case Form::State::refused: return -1;
        case Form::State::too_many: return -2;
        case Form::State::varies: return -3;
        default: return 1;
    }
}

}  // namespace

// Returns the form in the making of a tuple of operations on so many wires, at most 64; 0 if they cannot be read, and then a
// Python exception is raised. types: as `plan_begin` takes them. operands: complex numbers [samples, stride], which stay
// where they are. most, zeros, only_read: as `Form` takes them.
QX_EXPORT(form_begin, (qx::python::Object* ops, const qx::Int* types, const void* operands, qx::Int samples, qx::Int stride,
                       qx::Int wires, double tolerance, qx::Int most, qx::Int zeros, qx::Int only_read)) {
    return Owned<Form>::make([&]() -> Form* {
        auto reader = std::make_unique<qx::plan::Reader>(ops, types);
        auto made = std::make_unique<Form>(std::move(reader), static_cast<const qx::form::Complex*>(operands), samples,
                                           stride, static_cast<int>(wires), tolerance, most, zeros != 0, only_read != 0);
        return made->read() ? made.release() : nullptr;
    });
}

// Returns the whole form in the making of one that is done and has only what was read, and may go; most: as `Form` takes it.
QX_EXPORT(form_begin_again, (qx::Int read, qx::Int most)) {
    return Owned<Form>::make([&] { return new Form(Owned<Form>::at(read), most); });
}

// Reads the next part of the circuit, for which the form waits.
QX_EXPORT(form_read, (qx::Int form)) {
    return Owned<Form>::change(form, [](Form& made) { return made.read() ? 0 : -1; });
}

// Goes on for about so many milliseconds; returns 0 when the form is done, 1 while it is not, 2 if it waits for `form_read`,
// -1 if an instruction makes a state, -2 if there are too many rotations and blocks, -3 if one varies in more than phases.
QX_EXPORT(form_advance, (qx::Int form, qx::Int milliseconds)) {
    return Owned<Form>::change(form,
                               [&](Form& made) { return qx::worked_for(milliseconds, [&] { return advanced(made); }); });
}

// Writes of a form that is done the number of rotations, blocks and generators, and its key. Blocks of one that is only read
// are matrices under many conditions.
QX_EXPORT(form_counts, (qx::Int form, qx::Int* out)) {
    const Form& made = Owned<Form>::at(form);
    out[0] = static_cast<qx::Int>(made.rotations.size()),
    out[1] = static_cast<qx::Int>(made.blocks.size() + made.read_under.size());
    out[2] = static_cast<qx::Int>(made.generators.size()), out[3] = static_cast<qx::Int>(made.key);
    return 0;
}

// Writes what a form is made of. strings: X and Z of each rotation, of each generator, and of the images of each X and each
// Z; numbers: the layer of each rotation; instruction, number of generators and layer of each block; whether generators are
// negative, and whether images are. angles: those of rotations, and the phase.
QX_EXPORT(form_write, (qx::Int form, qx::Int* strings, qx::Int* numbers, double* angles)) {
    const Form& made = Owned<Form>::at(form);
    const auto write = [&](const qx::form::Pauli& of) {
        *strings++ = static_cast<qx::Int>(of.x), *strings++ = static_cast<qx::Int>(of.z);
    };
    for (const auto& one : made.rotations) {
        write(one.pauli);
        *numbers++ = static_cast<qx::Int>(one.layer), *angles++ = one.angle.value;
    }
    *angles = made.phase.value;
    for (const auto& one : made.blocks)
        for (const auto number : {one.instruction, one.count, one.layer}) *numbers++ = static_cast<qx::Int>(number);
    for (const auto& one : made.generators) write(one.pauli), *numbers++ = one.negative;
    const qx::form::Tableau& tableau = made.tableau();
    for (const bool of_z : {false, true})
        for (int wire = 0; wire < tableau.wires(); ++wire) {
            const qx::form::Mask* row = of_z ? tableau.z_row(wire) : tableau.x_row(wire);
            write({row[0], row[1]});
            *numbers++ = of_z ? tableau.z_negative(wire) : tableau.x_negative(wire);
        }
    return 0;
}

// Writes of a form how many phases vary, and of how many inputs and shares they are; see `Form`.
QX_EXPORT(form_varying, (qx::Int form, qx::Int* out)) {
    const Form& made = Owned<Form>::at(form);
    out[0] = made.num_phases;
    out[1] = static_cast<qx::Int>(made.inputs.size()), out[2] = static_cast<qx::Int>(made.shares.size());
    return 0;
}

// Writes phase and place of each input, and then place, phase and whether it is the conjugate, of each share, with -1 for
// none; and the numbers by which they are multiplied, one after another.
QX_EXPORT(form_write_varying, (qx::Int form, qx::Int* places, double* by)) {
    const Form& made = Owned<Form>::at(form);
    const auto number = [](qx::form::Index of) { return of == qx::form::Share::none ? qx::Int{-1} : qx::Int{of}; };
    for (const auto& one : made.inputs) {
        *places++ = one.phase, *places++ = number(one.entry);
        *by++ = one.by.real(), *by++ = one.by.imag();
    }
    for (const auto& one : made.shares) {
        *places++ = one.entry, *places++ = number(one.phase), *places++ = one.conjugate;
        *by++ = one.by.real(), *by++ = one.by.imag();
    }
    return 0;
}

QX_EXPORT(form_free, (qx::Int form)) {
    Owned<Form>::drop(form);
    return 0;
}
