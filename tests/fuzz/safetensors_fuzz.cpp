// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/safetensors.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

namespace {

// Reads the tensor whole, and its last element alone.
void read(train::SafetensorsFile& file, const train::TensorInfo& tensor) {
    if (tensor.type == Dtype::byte) {
        std::vector<std::uint8_t> values(tensor.count);
        return file.read_range(tensor, 0, view_of(values));
    }
    if (tensor.type == Dtype::u64) {
        std::vector<std::uint64_t> values(tensor.count);
        return file.read(tensor, view_of(values));
    }
    std::vector<float> values(tensor.count);
    file.read(tensor, view_of(values));
    if (!values.empty()) file.read_range(tensor, tensor.count - 1, view_of(values).subview(0, 1));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr const char* path = "input.safetensors";
    fuzz::write_input(path, {data, size});
    fuzz::expect_answer([&] {
        train::SafetensorsFile file(path);
        for (const train::TensorInfo& tensor : file.tensors()) {
            fuzz::expect(file.find(tensor.name) != nullptr, "a tensor that is not found");
            fuzz::expect_answer([&] { read(file, tensor); });
        }
        file.verify();
    });
    return 0;
}
