// SPDX-License-Identifier: Apache-2.0
#include "nccl_operations.hpp"

#include <cstdint>
#include <cstring>

#include "runtime/core/bf16.hpp"

namespace emulated_nccl {

std::size_t bytes_of(ncclDataType_t type) {
    switch (type) {
        case ncclUint8:
            return 1;
        case ncclBfloat16:
            return 2;
        case ncclFloat32:
            return 4;
        default:
            return 8;
    }
}

namespace {

template <class T>
T wide(T value) {
    return value;
}
float wide(lockstep::bf16 value) { return static_cast<float>(value); }

template <class T>
void reduce(const std::map<int, Operation>& operations, std::size_t first, std::size_t count,
            std::vector<std::byte>& result) {
    result.resize(count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
        T total{};
        bool begun = false;
        for (const auto& [rank, operation] : operations) {
            const T value = static_cast<const T*>(operation.from)[first + i];
            if (!begun)
                total = value;
            else if (operation.reduction == ncclSum)
                total = static_cast<T>(wide(total) + wide(value));
            else if (operation.reduction == ncclMax)
                total = wide(value) > wide(total) ? value : total;
            else
                total = wide(value) < wide(total) ? value : total;
            begun = true;
        }
        std::memcpy(result.data() + i * sizeof(T), &total, sizeof(T));
    }
}

void reduce(const std::map<int, Operation>& operations, std::size_t first, std::size_t count,
            std::vector<std::byte>& result) {
    switch (operations.begin()->second.type) {
        case ncclFloat32:
            return reduce<float>(operations, first, count, result);
        case ncclFloat64:
            return reduce<double>(operations, first, count, result);
        case ncclBfloat16:
            return reduce<lockstep::bf16>(operations, first, count, result);
        default:
            return reduce<std::uint64_t>(operations, first, count, result);
    }
}

}  // namespace

void execute(const std::map<int, Operation>& operations) {
    const Operation& any = operations.begin()->second;
    const std::size_t bytes = any.count * bytes_of(any.type);
    std::vector<std::byte> result;
    std::map<int, std::vector<std::byte>> parts;
    if (any.kind == Kind::all_reduce) reduce(operations, 0, any.count, result);
    for (const auto& [rank, operation] : operations) {
        const auto* from = static_cast<const std::byte*>(operation.from);
        if (any.kind == Kind::reduce_scatter)
            reduce(operations, static_cast<std::size_t>(rank) * any.count, any.count, parts[rank]);
        if (any.kind == Kind::all_gather) result.insert(result.end(), from, from + bytes);
        if (any.kind == Kind::broadcast && rank == any.root) result.assign(from, from + bytes);
    }
    for (const auto& [rank, operation] : operations) {
        const auto& part = any.kind == Kind::reduce_scatter ? parts[rank] : result;
        std::memcpy(operation.to, part.data(), part.size());
    }
}

}  // namespace emulated_nccl
