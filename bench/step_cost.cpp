// SPDX-License-Identifier: Apache-2.0
#include "bench/step_cost.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "model/architectures.hpp"
#include "runtime/kernels/cpu/matmul/matmul.hpp"

namespace lockstep::bench {

namespace {

// Returns the sum over the sequences of queries x keys.
double pairs(const train::RaggedTokens& queries, const train::RaggedTokens& keys) {
    double sum = 0;
    for (std::size_t s = 0; s + 1 < queries.offsets.size(); ++s) {
        sum += double{static_cast<double>(queries.offsets[s + 1] - queries.offsets[s])} *
               (keys.offsets[s + 1] - keys.offsets[s]);
    }
    return sum;
}

// oneDNN is measured also where a step uses products of our own, which may be slower at this size.
template <class T>
double best_rate(device::CpuContext& context) {
    constexpr std::int64_t n = 2048;
    const T one = static_cast<T>(1.0f);
    std::vector<T> x(n * n, one), w(n * n, one), y(n * n);
    using namespace kernels::cpu;
    const HostMatrix<const T> mx(x.data(), n, n), mw(w.data(), n, n);
    Product product{n,       n,        n,           factor(mx), transposed(mw),
                    nullptr, y.data(), dtype_of<T>, n,          kernels::Into::overwrite};
    MatmulCache one_dnn;
    double best = 1e9;
    const auto time = [&](const auto& run) {
        const auto start = std::chrono::steady_clock::now();
        run();
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        best = std::min(best, passed.count());
    };
    for (int repeat = 0; repeat < 8; ++repeat) {
        for (const Method method : {Method::first, Method::packed}) {
            product.method = method;
            time([&] {
                if (!one_dnn.run(product)) multiply(context, product);
            });
        }
        time([&] { multiply(context, product); });
    }
    return 2.0 * n * n * n / best;
}

}  // namespace

double step_flop(const model::ModelConfig& config, const train::Batch& batch) {
    const auto d = static_cast<double>(config.embedding_size);
    const auto ffn = 2 * d * static_cast<double>(config.ffn_size);
    const auto source = static_cast<double>(batch.source.real());
    const auto target = static_cast<double>(batch.target.real());
    const auto encoder = static_cast<double>(config.encoder_layers);
    const auto decoder = static_cast<double>(config.decoder_layers);
    double linear =
        target * static_cast<double>(config.vocabulary) * d + decoder * target * (4 * d * d + ffn);
    double attention = decoder * pairs(batch.target, batch.target);
    if (model::has_encoder(config)) {
        linear += encoder * source * (4 * d * d + ffn) +
                  decoder * (target * 2 * d * d + source * 2 * d * d);
        attention += encoder * pairs(batch.source, batch.source) +
                     decoder * pairs(batch.target, batch.source);
    }
    return 6 * linear + 12 * d * attention;
}

double product_ceiling(device::CpuContext& context, train::Precision precision) {
    return precision == train::Precision::bf16 ? best_rate<bf16>(context)
                                               : best_rate<float>(context);
}

}  // namespace lockstep::bench
