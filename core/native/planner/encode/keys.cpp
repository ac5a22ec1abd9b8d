// The sweeps of a plan as byte strings that are equal exactly if the sweeps are, but for labels: kernels are known by them.

#include "base/export.hpp"
#include "base/owned.hpp"
#include "planner/steps.hpp"

namespace {

using namespace qx::plan;

struct SweepKeys {
    std::vector<qx::Int> words;
    std::vector<qx::Int> ends;
};

// Appends bytes, their number before them.
void append(std::vector<qx::Int>& words, const char* bytes, std::size_t size) {
    words.push_back(static_cast<qx::Int>(size));
    const std::size_t at = words.size();
    words.resize(at + (size + 7) / 8);
    std::memcpy(words.data() + at, bytes, size);
}

void append(const Item& item, const PlanContext& context, std::vector<qx::Int>& words) {
    const Mask* masks = context.words.data() + item.words;
    for (qx::Int word : {item.kind, item.num_bits, item.num_reads, item.when_mask, item.when_value}) words.push_back(word);
    for (qx::Int k = 0; k < item.num_bits; ++k) words.push_back(static_cast<qx::Int>(masks[k]));
    for (qx::Int k = 0; k < item.num_reads; ++k) words.push_back(static_cast<qx::Int>(masks[2 * item.num_bits + k]));
    if (item.kind == static_cast<qx::Int>(Kind::permute)) {
        const Index* to = context.values.data() + item.to;
        append(words, reinterpret_cast<const char*>(to), sizeof(Index) << item.num_bits);
        return;
    }
    words.push_back(item.slot), words.push_back(item.count);
    Interned::Bytes pattern = context.patterns[static_cast<Index>(item.pattern)];
    append(words, pattern.data(), pattern.size());
}

// Appends the key of each sweep.
void append(const PlanSteps& plan, SweepKeys& made) {
    for (const Step& step : plan.steps.steps) {
        if (step.type != Step::sweep) continue;
        for (qx::Int word : {step.tile, step.fresh, step.numbers, step.tables, step.num_bits, step.num_loads})
            made.words.push_back(word);
        for (qx::Int k = 0; k < step.num_bits; ++k)
            made.words.push_back(static_cast<qx::Int>(plan.context->words[static_cast<std::size_t>(step.words + k)]));
        for (qx::Int k = 0; k < step.num_loads; ++k)
            made.words.push_back(static_cast<qx::Int>(plan.context->words[static_cast<std::size_t>(step.loads + k)]));
        for (qx::Int k = step.begin; k < step.end; ++k) {
            const RegisterBlock& block = plan.steps.register_blocks[static_cast<std::size_t>(k)];
            made.words.push_back(block.registers), made.words.push_back(block.end - block.begin);
            for (qx::Int j = block.begin; j < block.end; ++j)
                append(plan.steps.items[static_cast<std::size_t>(j)], *plan.context, made.words);
        }
        made.ends.push_back(static_cast<qx::Int>(made.words.size()));
    }
}

}  // namespace

// Returns the keys of a finished plan's sweeps; writes the address and the length of the keys' words, and of their ends.
QX_EXPORT(plan_keys, (qx::Int steps, qx::Int* out)) {
    return qx::Owned<SweepKeys>::make([&] {
        auto* made = new SweepKeys;
        append(*reinterpret_cast<const PlanSteps*>(steps), *made);
        *out++ = reinterpret_cast<qx::Int>(made->words.data()), *out++ = static_cast<qx::Int>(made->words.size());
        *out++ = reinterpret_cast<qx::Int>(made->ends.data()), *out++ = static_cast<qx::Int>(made->ends.size());
        return made;
    });
}

QX_EXPORT(plan_free_keys, (qx::Int keys)) {
    qx::Owned<SweepKeys>::drop(keys);
    return 0;
}
