// The names of the rules of planning, for Python.

#include "planner/rules.hpp"

#include "base/export.hpp"

namespace {

#define QX_PLANNING_RULE(name) #name " "
constexpr char names[] = QX_PLANNING_RULES(QX_PLANNING_RULE);

}  // namespace

// Writes the address and the length of the names of all rules in the order of their bits; a space follows each.
QX_EXPORT(plan_rules, (qx::Int * out)) {
    out[0] = reinterpret_cast<qx::Int>(names), out[1] = sizeof names - 1;
    return 0;
}
