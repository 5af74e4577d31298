// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

std::size_t bytes_of(Element element) noexcept {
    switch (element) {
        case Element::f32:
            return 4;
        case Element::f64:
            return 8;
        case Element::bf16:
            return 2;
        case Element::u64:
            return 8;
        case Element::byte:
            return 1;
    }
    return 1;
}

const char* name(Element element) noexcept {
    switch (element) {
        case Element::f32:
            return "f32";
        case Element::f64:
            return "f64";
        case Element::bf16:
            return "bf16";
        case Element::u64:
            return "u64";
        case Element::byte:
            return "byte";
    }
    return "unknown";
}

const char* name(ReduceOp reduction) noexcept {
    switch (reduction) {
        case ReduceOp::sum:
            return "sum";
        case ReduceOp::min:
            return "min";
        case ReduceOp::max:
            return "max";
    }
    return "unknown";
}

void Communicator::abort(int /*exit_code*/) {}

}  // namespace lockstep::comm
