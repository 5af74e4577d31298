// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_core_shapes.hpp"

#include <cstdint>

#include "model/parts.hpp"

namespace lockstep::model {

namespace {

constexpr std::int64_t sixteen_bytes = 8, tile = 64, widest_head = 128;

std::int64_t round_up(std::int64_t width, std::int64_t multiple) {
    return (width + multiple - 1) / multiple * multiple;
}

void check_width(const std::string& option, std::int64_t width, std::vector<SlowShape>& slow) {
    if (width % sixteen_bytes == 0) return;
    const std::int64_t next = round_up(width, sixteen_bytes), whole = round_up(width, tile);
    const std::string tiles =
        whole == next ? "" : ", or " + std::to_string(whole) + " for whole tiles of 64";
    slow.push_back({option + " " + std::to_string(width) + " is no multiple of 8",
                    std::to_string(next) + tiles});
}

}  // namespace

std::vector<SlowShape> slow_shapes(const ModelConfig& config) {
    std::vector<SlowShape> slow;
    check_width("--embedding-size", config.embedding_size, slow);
    check_width("--ffn-size", config.ffn_size, slow);
    const std::int64_t head = widths(config).head_dim;
    if (head % sixteen_bytes != 0 || head > widest_head)
        slow.push_back({"--n-heads " + std::to_string(config.heads) + " makes heads of " +
                            std::to_string(head) + " columns",
                        "heads of 64 or 128 columns, else of 8 to 128 in steps of 8"});
    return slow;
}

}  // namespace lockstep::model
