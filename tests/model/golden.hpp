// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/config.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::tests {

// A file that export_goldens.py wrote.
class Golden {
public:
    explicit Golden(const std::string& name);

    const model::ModelConfig& config() const noexcept { return config_; }
    // Returns the batch whose tensors begin with `prefix`. Its rows have the global ids 100, 101,
    // ...
    train::Batch batch(const std::string& prefix);
    std::vector<float> tensor(const std::string& name);

private:
    std::vector<std::uint64_t> integers(const std::string& name);
    train::RaggedTokens side(const std::string& name);

    train::SafetensorsFile file_;
    model::ModelConfig config_;
};

// Sets the weights that the goldens were computed with: pattern() of export_goldens.py.
void set_pattern(const train::ParameterTable& table, HostView<float> master);

// Writes NaN to every parameter's gradient; the gaps between the parameters stay as they are.
void spoil(const train::ParameterTable& table, HostView<float> gradient);

}  // namespace lockstep::tests
